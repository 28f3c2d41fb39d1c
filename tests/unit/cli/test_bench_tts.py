"""`kazeia bench tts` with stand-ins for both voices: real processes, known figures."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kazeia_desktop.cli import bench_tts, engine_process, main
from kazeia_desktop.formats.ggml_types import GgmlType, n_bytes
from kazeia_desktop.formats.gguf_writer import GgufWriter, Key, TensorPlan
from kazeia_desktop.paths import Paths

pytestmark = pytest.mark.unit

ENGINE = """
import json, os, sys
name, log = sys.argv[2], sys.argv[1]
def answer(**record): print(json.dumps(record), flush=True)
job = json.loads(sys.stdin.readline())
if os.path.exists(job["model_dir"] + "/refused-" + name):
    answer(error="no such luck"); sys.exit()
if os.path.exists(job["model_dir"] + "/broken-" + name):
    sys.exit("Segmentation of the fault")
answer(load_ms=1250.0)
rtf = {"kazeia": [1.0, 1.2, 1.1, 1.4, 1.5], "qwentts.cpp": [4.0, 5.0, 4.4, 4.2, 4.6]}[name]
for line in sys.stdin:
    asked = json.loads(line)
    if "texts" in asked:
        way = (1.0 if asked["together"] else 2.0) + asked["seed"] / 1000 + (0.0 if asked["streamed"] else 1.0)
        answer(frames=len(asked["texts"]) * asked["frames"], rtf=way, talker_ms=10 * way, code_predictor_ms=20 * way,
               codec_ms=40 * way, ttfa_ms=0.0, stop="budget", peak_rss_mb=1.0, profile=None)
        continue
    if asked["seed"] == 2 and os.path.exists(job["model_dir"] + "/collapses-" + name):
        os.write(2, b"Illegal instruction"); os._exit(4)
    with open(log, "a") as file: file.write(f"{name} {asked['seed']} {asked['frames']} {asked['text']}\\n")
    mine = rtf[asked["seed"] - 1] if asked["seed"] else 99.0
    answer(frames=asked["frames"], rtf=mine, ttfa_ms=100 * mine, talker_ms=10 * mine, code_predictor_ms=20 * mine,
           codec_ms=None if name != "kazeia" else 30 * mine, stop="budget", peak_rss_mb=1000.5,
           profile={"talker": {"compute": 9.0 * mine, "waiting": 1.5}})
"""
FLOOR = {"read_gb_s": 20.0, "peak_gflop_s": 100.0, "probe": "none"}
KEYS = {
    "rtf", "peer_rtf", "ratio_rtf", "ttfa_ms", "peer_ttfa_ms", "ratio_ttfa", "talker_ms", "code_predictor_ms",
    "codec_ms", "floor_talker_ms", "floor_code_predictor_ms", "floor_codec_ms", "peak_rss_mb", "peer_peak_rss_mb",
    "load_s",
}  # fmt: skip


def gguf(path: Path, **tensors: tuple[int, GgmlType]) -> None:
    """A file whose tensors have 64 columns and the given rows; names with __ for dots."""
    path.parent.mkdir(parents=True, exist_ok=True)
    plan = [TensorPlan(name.replace("__", "."), (rows, 64), kind) for name, (rows, kind) in tensors.items()]
    with GgufWriter(path, [Key("general.architecture", "string", "x")], plan) as writer:
        for tensor in plan:
            writer.append(np.ones(tensor.shape, np.float32))
        writer.finish()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """As far as the benchmark reads one: the files that its floors are counted from."""
    q8 = GgmlType.Q8_0
    folder = tmp_path / "modèle q8"
    gguf(
        folder / "talker.gguf", token_embd__weight=(500, q8), blk__0__attn_q__weight=(1000, q8), output__weight=(24, q8)
    )
    gguf(folder / "code_predictor.gguf", blk__0__ffn_up__weight=(100, q8), head__1__weight=(8, q8),
         codec_embd__0__weight=(500, q8))  # fmt: skip
    return folder


@pytest.fixture
def peer(tmp_path: Path) -> Path:
    gguf(tmp_path / "peer" / "q8_0" / "talker.gguf", talker__blk__0__attn_q__weight=(2, GgmlType.Q8_0))
    return tmp_path / "peer"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kazeia_home: Path) -> Path:
    """Replaces voices, probe and manifest; what was asked of the voices is in this file."""
    script, asked = tmp_path / "engine.py", tmp_path / "asked.txt"
    script.write_text(ENGINE, "utf-8")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setattr(engine_process, "_COMMAND", (sys.executable, str(script), str(asked)))
    monkeypatch.setattr(bench_tts, "_probe", lambda threads, *what: dict(FLOOR))
    monkeypatch.setattr(bench_tts, "load_manifest", lambda folder: SimpleNamespace(dtype="q8_0"))
    monkeypatch.setattr(bench_tts.importlib.util, "find_spec", lambda name: SimpleNamespace(name=name))
    return asked


def run(*arguments: object) -> int:
    return main(["bench", "tts", *map(str, arguments)])


def test_medians_and_ratios_of_alternating_rounds(
    model: Path, peer: Path, log: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("--model", model, "--peer-model", peer, "--frames", 60, "--json") == 0
    out, err = capfd.readouterr()
    assert err == ""
    record = json.loads(out)
    row = record["q8_0"]
    assert set(row) >= KEYS
    assert (row["rtf"], row["peer_rtf"], row["ratio_rtf"]) == (1.2, 4.4, round(1.2 / 4.4, 3))
    assert (row["ttfa_ms"], row["peer_ttfa_ms"], row["ratio_ttfa"]) == (120.0, 440.0, round(1.2 / 4.4, 3))
    assert (row["talker_ms"], row["code_predictor_ms"], row["codec_ms"]) == (12.0, 24.0, 36.0)
    assert (row["peer_talker_ms"], row["peer_codec_ms"]) == (44.0, None)
    assert (row["peak_rss_mb"], row["peer_peak_rss_mb"]) == (1000.5, 1000.5)
    assert (row["frames"], row["stops"], row["load_s"]) == (60, ["budget"], 1.25)
    assert (row["drift"], row["throttled"]) == (0.5, True)
    assert (record["read_gb_s"], record["rounds"], record["threads"]) == (20.0, 5, 2)
    assert set(record["machine"]) == {"before", "after", "other_work_cores"}
    asked = [line.split(" ", 3) for line in log.read_text("utf-8").splitlines()]
    assert [(name, seed) for name, seed, _, _ in asked] == [
        (name, str(seed)) for seed in range(6) for name in ("kazeia", "qwentts.cpp")
    ]
    assert {frames for _, seed, frames, _ in asked if seed != "0"} == {"60"}
    texts = [text for name, _, _, text in asked if name == "kazeia"]
    assert texts == [text for name, _, _, text in asked if name != "kazeia"]
    assert len(set(texts)) == 6


def test_clauses_at_once_beside_one_after_the_other(
    model: Path, peer: Path, log: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("--model", model, "--peer-model", peer, "--json") == 0
    record = json.loads(capfd.readouterr().out)
    row = record["q8_0"]
    assert record["clauses"] == 4
    # Seeds 1, 11 and 21: the second is the median. The models' figures are those without the codec.
    assert row["batch4_alone"] == {"rtf": 2.011, "talker_ms": 30.11, "code_predictor_ms": 60.22, "codec_ms": 80.44}
    assert row["batch4_together"] == {"rtf": 1.011, "talker_ms": 20.11, "code_predictor_ms": 40.22, "codec_ms": 40.44}
    assert (row["batch4_speedup"], row["batch4_models_speedup"]) == (1.99, 1.5)
    assert run("--model", model, "--peer-model", peer, "--clauses", 2, "--rounds", 1) == 0
    assert "2 clauses at once: 2.00 times as fast (RTF 2.00 -> 1.00)" in capfd.readouterr().out
    assert run("--model", model, "--peer-model", peer, "--clauses", 1, "--rounds", 1) == 0
    assert "at once" not in capfd.readouterr().out
    assert run("--model", model, "--clauses", 5) == 2
    assert "from 1 to 4, not 5" in capfd.readouterr().err


def test_floors_are_bytes_over_bandwidth(model: Path, peer: Path, log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run("--model", model, "--peer-model", peer, "--rounds", 1, "--json")
    row = json.loads(capfd.readouterr().out)["q8_0"]
    assert row["floor_codec_ms"] == round(4.96 / 144 * 1000, 2)  # the probe's 100 GFLOP/s are below what is known
    assert row["floor_talker_ms"] == round(n_bytes(1024 * 64, GgmlType.Q8_0) / 20e6, 2)
    assert (row["read_gb_s"], row["codec_over_floor"]) == (20.0, round(row["codec_ms"] / row["floor_codec_ms"], 2))
    quick, slow = ({"talker_ms": t, "code_predictor_ms": None, "codec_ms": 20.0, "read_gb_s": r} for t, r in
                   ((10.0, 40.0), (15.0, 20.0)))  # fmt: skip
    floors = bench_tts._floors(model, [quick, slow, slow], 496.0)
    floor = n_bytes(1024 * 64, GgmlType.Q8_0) / 20e6
    assert (floors["floor_codec_ms"], floors["codec_over_floor"], floors["read_gb_s"]) == (10.0, 2.0, 20.0)
    assert (floors["floor_talker_ms"], floors["talker_over_floor"]) == (round(floor, 2), round(15.0 / floor, 2))
    assert floors["code_predictor_over_floor"] is None
    disturbed = bench_tts._floors(model, [quick | {"read_gb_s": 1e-3}], 1.0)
    # A probe below the known machine does not raise the floor.
    assert disturbed["floor_codec_ms"] == 34.44
    assert disturbed["floor_talker_ms"] == round(n_bytes(1024 * 64, GgmlType.Q8_0) / 17.5e6, 2)
    sweeps = n_bytes((15 * 100 + 8) * 64, GgmlType.Q8_0)
    assert row["floor_code_predictor_ms"] == round(sweeps / 20e6, 2)


def test_a_missing_wheel_is_one_line_and_null(
    model: Path, peer: Path, log: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_tts.importlib.util, "find_spec", lambda name: None)
    assert run("--model", model, "--peer-model", peer, "--json") == 0
    out, err = capfd.readouterr()
    (line,) = err.splitlines()
    assert "pip install realtimetts-qwen-native-cpu" in line
    row = json.loads(out)["q8_0"]
    assert row["rtf"] == 1.2
    assert {row[key] for key in row if key.startswith(("peer_", "ratio_"))} == {None}


@pytest.mark.parametrize("how", ["refused", "broken", "collapses", "absent", "other type"])
def test_a_peer_that_fails_is_told_and_null(
    how: str, model: Path, peer: Path, log: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    talker = peer / "q8_0" / "talker.gguf"
    if how in ("refused", "broken", "collapses"):
        (talker.parent / f"{how}-qwentts.cpp").touch()
    else:
        talker.unlink()
    if how == "other type":
        gguf(talker, talker__blk__0__attn_q__weight=(2, GgmlType.Q4_0))
    assert run("--model", model, "--peer-model", peer, "--rounds", 2, "--json") == 0
    out, err = capfd.readouterr()
    (line,) = err.splitlines()
    said = {
        "refused": "no such luck",
        "broken": "Segmentation",
        "collapses": "Illegal",
        "absent": "make_qwentts_models",
        "other type": "not q8_0",
    }
    assert said[how] in line
    assert json.loads(out)["q8_0"]["peer_rtf"] is None


@pytest.mark.parametrize(("how", "reason"), [("refused", "luck"), ("broken", "Segmentation"), ("collapses", "Illegal")])
def test_our_own_failure_is_one_line(
    how: str, reason: str, model: Path, peer: Path, log: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (model / f"{how}-kazeia").touch()
    assert run("--model", model, "--peer-model", peer) == 1
    out, err = capfd.readouterr()
    (line,) = err.splitlines()
    assert (out, reason in line) == ("", True)


def test_two_models_of_one_type_have_two_names(
    model: Path, peer: Path, log: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("--model", model, "--model", model, "--peer-model", peer, "--rounds", 1, "--json") == 0
    assert {"q8_0", "q8_0 modèle q8"} <= set(json.loads(capfd.readouterr().out))


def test_the_table_shows_figures_and_profile(
    model: Path, peer: Path, log: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("--model", model, "--peer-model", peer, "--profile") == 0
    out = capfd.readouterr().out
    ours, its, ratio = [line for line in out.splitlines() if line.startswith(("q8_0", "ratio"))]
    assert ours.split() == ["q8_0", "kazeia", "1.20", "120", "12.0", "24.0", "36.0", "1000", "1.25"]
    assert its.split() == ["q8_0", "qwentts.cpp", "4.40", "440", "44.0", "88.0", "-", "1000", "-"]
    assert ratio.split()[:3] == ["ratio", "0.27", "0.27"]
    assert "50 % slower" in out
    assert "talker, a frame: compute 10.80, waiting 1.50" in out


@pytest.mark.parametrize(("cores", "told"), [(0.01, False), (0.5, True)])
def test_a_busy_machine_is_told(
    cores: float,
    told: bool,
    model: Path,
    peer: Path,
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    clock = iter([100.0, 200.0])
    busy = iter([7.0, 7.0 + 100.0 * cores])
    monkeypatch.setattr(bench_tts, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(bench_tts, "others_busy_s", lambda: next(busy))
    assert run("--model", model, "--peer-model", peer, "--rounds", 1) == 0
    assert (f"other programs kept {cores} cores busy" in capfd.readouterr().out) == told


@pytest.mark.parametrize("arguments", [["--frames", "0"], ["--rounds", "0"], ["--threads", "-1"], ["--frames", "x"]])
def test_bad_usage_is_2(arguments: list[str], log: Path) -> None:
    assert run(*arguments) == 2


def test_no_model_is_one_line(log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run() == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert "--model DIR" in line


def test_installed_models_are_measured_without_being_named(
    model: Path, peer: Path, log: Path, kazeia_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    installed = Paths.from_environment().models_dir / "own"
    installed.parent.mkdir(parents=True)
    model.rename(installed)
    (installed / "manifest.json").touch()
    assert run("--peer-model", peer, "--rounds", 1, "--json") == 0
    assert json.loads(capfd.readouterr().out)["q8_0"]["rtf"] == 1.0


@pytest.mark.parametrize("flags", [["--threads", "33"], ["--threads", "99999999999", "--voice-check"]])
def test_more_threads_than_there_can_be_are_refused_at_once(
    flags: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "tts", "--model", str(tmp_path), *flags]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "32" in line and flags[1] in line
