"""Writes tests/golden/whisper_base_fr.json: what faster-whisper in float32 hears in the open clips.

    python tools/make_stt_golden.py [--model-dir DIR]

Greedy, without timestamps and without its thresholds, which would try again.
"""

import argparse
import json
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Final

from kazeia_desktop.audio.wav import read_wav
from kazeia_desktop.cli.open_clips import write_clips
from kazeia_desktop.models.catalog import Catalog
from kazeia_desktop.models.store import ModelStore
from kazeia_desktop.paths import Paths

TARGET: Final = Path(__file__).parents[1] / "tests/golden/whisper_base_fr.json"


def reference(source: Path, threads: int) -> object:
    """faster-whisper on the weights in `source`."""
    import faster_whisper

    folder = Path(tempfile.mkdtemp(prefix="kazeia-golden-"))
    for file in ("model.bin", "config.json", "tokenizer.json"):
        (folder / file).symlink_to(source / file)
    tokenizer = json.loads((source / "tokenizer.json").read_text("utf-8"))
    ids = dict(tokenizer["model"]["vocab"]) | {t["content"]: t["id"] for t in tokenizer["added_tokens"]}
    ordered = [token for token, _ in sorted(ids.items(), key=lambda item: item[1])]
    (folder / "vocabulary.json").write_text(json.dumps(ordered), "utf-8")
    return faster_whisper.WhisperModel(str(folder), device="cpu", compute_type="float32", cpu_threads=threads)


def main() -> None:
    """Transcribe the clips and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model-dir", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    source = options.model_dir or ModelStore(Paths.from_environment().models_dir, Catalog.load()).require(
        "whisper-base"
    )
    model = reference(source, options.threads)
    heard: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        for clip in write_clips(Path(name)):
            samples, _ = read_wav(Path(name) / clip["file"])
            segments, _ = model.transcribe(  # type: ignore[attr-defined]
                samples,
                language="fr",
                beam_size=1,
                temperature=0.0,
                condition_on_previous_text=False,
                without_timestamps=True,
                no_speech_threshold=None,
                log_prob_threshold=None,
                compression_ratio_threshold=None,
            )
            heard[clip["file"]] = " ".join(" ".join(s.text for s in segments).split())
    record = {
        "made_by": "tools/make_stt_golden.py",
        "model": "whisper-base",
        "compute_type": "float32",
        "versions": {package: version(package) for package in ("faster-whisper", "ctranslate2", "numpy")},
        "transcripts": heard,
    }
    TARGET.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
