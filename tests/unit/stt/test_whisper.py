"""The recogniser's contract, on real Whisper base."""

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kazeia_desktop.stt.whisper as whisper
from kazeia_desktop.audio.wav import read_wav
from kazeia_desktop.cli.open_clips import SOUNDS
from kazeia_desktop.cli.word_errors import word_error_rate, words
from kazeia_desktop.errors import AudioFormatError, Cancelled, InferenceError, ModelCorruptError, ModelIncompatibleError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import SttSettings
from kazeia_desktop.stt.graphs import Graphs
from kazeia_desktop.stt.whisper import WhisperRecognizer, check_samples, longest_pause, loops
from tests.realmodels import require_model

pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def recognizer() -> Iterator[WhisperRecognizer]:
    made = WhisperRecognizer(require_model("whisper-base"), SttSettings())
    yield made
    made.close()


def spoken(folder: Path, name: str) -> FloatArray:
    wav = folder / f"{name}.wav"
    source = ["-f", "g722", "-i", str(SOUNDS / f"{name}.g722")]
    subprocess.run(["ffmpeg", "-v", "error", *source, "-ar", "16000", str(wav)], check=True)
    return read_wav(wav)[0]


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FloatArray]:
    """Two sentences that differ."""
    folder = tmp_path_factory.mktemp("speech")
    return {name: spoken(folder, name) for name in ("vm-nonumber", "demo-thanks")}


@pytest.mark.parametrize(
    "bad",
    [
        None,
        [],
        b"",
        0.5,
        np.zeros(1600, np.int16),
        np.zeros(1600, np.float64),
        np.zeros((2, 1600), np.float32),
        np.zeros((), np.float32),
        np.array([0.0] * 1600 + [np.nan], np.float32),
        np.array([0.0] * 1600 + [np.inf], np.float32),
        np.array([0.0] * 1600 + [-100.0], np.float32),
        [0.0] * 1600,
    ],
    ids=lambda bad: f"{type(bad).__name__}{getattr(bad, 'shape', '')}{getattr(bad, 'dtype', '')}",
)
def test_what_is_no_sound_is_refused_in_one_line(recognizer: WhisperRecognizer, bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(AudioFormatError) as caught:
        recognizer.transcribe(bad, 0, CancelToken())
    assert "\n" not in str(caught.value)


def test_loudness_in_the_refusal_is_the_sounds(recognizer: WhisperRecognizer) -> None:
    with pytest.raises(AudioFormatError, match="100 times"):
        check_samples(np.full(10, -100.0, np.float32))


@pytest.mark.parametrize("n", [0, 1, 200, 1599])
def test_next_to_nothing_is_no_words(recognizer: WhisperRecognizer, n: int) -> None:
    found = recognizer.transcribe(np.zeros(n, np.float32), 7, CancelToken())
    assert (found.turn_id, found.text, found.segments) == (7, "", ())


@pytest.mark.parametrize("n", [1600, 16_000, 80_000, 480_000])
def test_silence_is_no_words(recognizer: WhisperRecognizer, n: int) -> None:
    assert recognizer.transcribe(np.zeros(n, np.float32), 0, CancelToken()).text == ""


@pytest.mark.parametrize("level", [0.001, 0.03, 0.3])
def test_noise_is_no_words(recognizer: WhisperRecognizer, level: float) -> None:
    noise = (level * np.random.default_rng(3).standard_normal(48_000)).clip(-1, 1).astype(np.float32)
    assert recognizer.transcribe(noise, 0, CancelToken()).text == ""


def test_a_view_with_strides_is_heard_as_its_copy(recognizer: WhisperRecognizer, speech: dict[str, FloatArray]) -> None:
    samples = speech["vm-nonumber"]
    view = np.repeat(samples, 2)[::2]
    assert not view.flags.c_contiguous
    expected = recognizer.transcribe(samples, 0, CancelToken()).text
    assert expected
    assert recognizer.transcribe(view, 0, CancelToken()).text == expected
    assert recognizer.transcribe(samples, 0, CancelToken()).text == expected


def test_the_input_is_left_as_it_was(recognizer: WhisperRecognizer, speech: dict[str, FloatArray]) -> None:
    samples = speech["vm-nonumber"].copy()
    samples.flags.writeable = False
    found = recognizer.transcribe(samples, 3, CancelToken())
    np.testing.assert_array_equal(samples, speech["vm-nonumber"])
    assert found.turn_id == 3
    assert found.language == "fr"
    assert found.segments[0].end_s == pytest.approx(len(samples) / 16_000)
    assert found.encoder_ms > 0
    assert found.decoder_ms_per_token > 0
    assert found.n_tokens > len(words(found.text)) / 2


def test_two_threads_get_their_own_words(recognizer: WhisperRecognizer, speech: dict[str, FloatArray]) -> None:
    expected = {name: recognizer.transcribe(samples, 0, CancelToken()).text for name, samples in speech.items()}
    assert len(set(expected.values())) == 2
    heard: dict[str, list[str]] = {name: [] for name in speech}

    def work(name: str) -> None:
        for _ in range(2):
            heard[name].append(recognizer.transcribe(speech[name], 0, CancelToken()).text)

    threads = [threading.Thread(target=work, args=(name,)) for name in speech]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert heard == {name: [text] * 2 for name, text in expected.items()}


def test_cancelled_before_it_begins(recognizer: WhisperRecognizer, speech: dict[str, FloatArray]) -> None:
    cancel = CancelToken()
    cancel.set()
    with pytest.raises(Cancelled):
        recognizer.transcribe(speech["vm-nonumber"], 0, cancel)
    assert recognizer.transcribe(speech["vm-nonumber"], 0, CancelToken()).text


@pytest.mark.parametrize("after_s", [0.01, 0.1, 0.2, 0.3])
def test_cancelled_in_the_encoder_it_returns_soon(
    recognizer: WhisperRecognizer, speech: dict[str, FloatArray], after_s: float
) -> None:
    """The encoder takes 600 ms for 30 s on two quiet cores; it stops 13 ms after the cancel, at most 50."""
    expected = recognizer.transcribe(speech["vm-nonumber"], 0, CancelToken()).text
    long = np.tile(speech["demo-thanks"], 20)[: 28 * 16_000]
    cancel = CancelToken()
    asked: list[float] = []

    def stop() -> None:
        asked.append(time.perf_counter())
        cancel.set()

    timer = threading.Timer(after_s, stop)
    timer.start()
    with pytest.raises(Cancelled):
        recognizer.transcribe(long, 0, cancel)
    late_s = time.perf_counter() - asked[0]
    timer.join()
    assert late_s < 0.3  # three times the 100 ms that are promised
    assert recognizer.transcribe(speech["vm-nonumber"], 0, CancelToken()).text == expected


def test_closed_is_told_and_closing_twice_is_harmless(speech: dict[str, FloatArray]) -> None:
    made = WhisperRecognizer(require_model("whisper-base"), SttSettings(threads=1))
    made.close()
    made.close()
    with pytest.raises(InferenceError, match="closed"):
        made.transcribe(speech["vm-nonumber"], 0, CancelToken())


def test_settings_apply_to_the_next_utterance(recognizer: WhisperRecognizer, speech: dict[str, FloatArray]) -> None:
    try:
        recognizer.apply(SttSettings(min_mean_logprob=0.0))  # nothing is that certain
        assert recognizer.transcribe(speech["vm-nonumber"], 0, CancelToken()).text == ""
        recognizer.apply(SttSettings(language="auto"))
        found = recognizer.transcribe(speech["vm-nonumber"], 0, CancelToken())
        assert found.language == "fr"
        assert found.text
    finally:
        recognizer.apply(SttSettings())


def test_a_precision_that_there_is_not() -> None:
    with pytest.raises(ModelIncompatibleError, match="int3"):
        WhisperRecognizer(require_model("whisper-base"), SttSettings.model_construct(precision="int3", threads=1))  # type: ignore[arg-type]


def test_damaged_graphs_are_made_again_and_a_damaged_tokenizer_is_named(
    tmp_path: Path, recognizer: WhisperRecognizer, speech: dict[str, FloatArray]
) -> None:
    source = require_model("whisper-base")
    WhisperRecognizer(source, SttSettings()).close()  # the graphs are there now
    for file in ("model.bin", "config.json"):
        (tmp_path / file).symlink_to(source / file)
    shutil.copy(source / "tokenizer.json", tmp_path / "tokenizer.json")
    graphs = next(source.glob("onnx-mixed-*"))
    copy = tmp_path / graphs.name
    copy.mkdir()
    shutil.copy(graphs / "source.txt", copy / "source.txt")
    (copy / "encoder.onnx").write_bytes((graphs / "encoder.onnx").read_bytes()[:100_000])
    (copy / "decoder.onnx").symlink_to(graphs / "decoder.onnx")
    made = WhisperRecognizer(tmp_path, SttSettings())
    try:
        heard = made.transcribe(speech["vm-nonumber"], 0, CancelToken()).text
    finally:
        made.close()
    assert heard == recognizer.transcribe(speech["vm-nonumber"], 0, CancelToken()).text
    (tmp_path / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes()[:5000])
    with pytest.raises(ModelCorruptError, match=r"tokenizer\.json"):
        WhisperRecognizer(tmp_path, SttSettings())
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ModelCorruptError, match=r"tokenizer\.json"):
        WhisperRecognizer(tmp_path, SttSettings())


def test_more_words_than_one_window_holds_are_heard_in_two(
    recognizer: WhisperRecognizer, speech: dict[str, FloatArray], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = speech["vm-nonumber"], speech["demo-thanks"]
    both = np.concatenate([first, np.zeros(8000, np.float32), second])
    each = [recognizer.transcribe(samples, 0, CancelToken()) for samples in (first, second)]
    whole = recognizer.transcribe(both, 0, CancelToken())
    # A window that holds neither the whole nor less than one half.
    slots = max(found.n_tokens for found in each) + 4 + 3
    assert slots < whole.n_tokens + 4
    monkeypatch.setattr(whisper, "SLOTS", slots)
    heard = words(recognizer.transcribe(both, 0, CancelToken()).text)
    wanted = words(each[0].text) + words(each[1].text)
    missed = sum(word not in heard for word in wanted)
    assert missed <= len(wanted) * 0.2, (heard, wanted)


def test_more_than_half_a_minute_is_heard_to_its_end(
    recognizer: WhisperRecognizer, speech: dict[str, FloatArray]
) -> None:
    first, last = speech["vm-nonumber"], speech["demo-thanks"][: 10 * 16_000]
    alone = words(recognizer.transcribe(last, 0, CancelToken()).text)
    gap = np.zeros(max(8000, 32 * 16_000 - len(first)), np.float32)  # the second begins after 32 s
    heard = words(recognizer.transcribe(np.concatenate([first, gap, last]), 0, CancelToken()).text)
    assert sum(word in heard for word in alone) >= 0.8 * len(alone), (heard, alone)


_MENU = (
    "Pour activer ou désactiver le mode sourdine, veuillez appuyer sur 1. Pour verrouiller ou déverrouiller la "
    "conférence, appuyez sur 2. Pour éjecter le dernier participant, appuyez sur 3. Pour réduire ou augmenter le "
    "volume de la conférence, appuyez sur 4 ou 6. Pour prolonger la conférence, appuyez sur 5. Pour réduire ou "
    "augmenter votre volume, appuyez sur 7 ou 9. Pour quitter, appuyez sur 8."
)


@pytest.mark.parametrize("longest_heard", [200, 60])
def test_a_person_may_repeat_himself(
    recognizer: WhisperRecognizer, longest_heard: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """longest_heard: tokens beyond which the sound is taken for a loop: then its halves are heard."""
    heard: list[int] = []

    def is_loop(tokens: tuple[int, ...], text: str) -> bool:
        heard.append(len(tokens))
        return len(tokens) > longest_heard or loops(tokens, text)

    monkeypatch.setattr(whisper, "loops", is_loop)
    found = recognizer.transcribe(spoken(tmp_path, "conf-adminmenu-162"), 0, CancelToken())
    assert word_error_rate([_MENU], [found.text]) < 0.2, found.text
    assert (max(heard) > longest_heard) == (longest_heard == 60)


@pytest.mark.parametrize(
    ("tokens", "text", "expected"),
    [
        ((), "", False),
        (tuple(range(100)), "Il fait beau et je pars demain matin avec mon frère au bord de la mer.", False),
        ((1, 2, 3, 4) * 4, "x", True),
        ((1, 2, 3, 4) * 3, "x", False),
        ((9, 1, 2, 3, 4, 5, 6, 7, 8) * 3, "x", True),
        ((9, 1, 2, 3, 4, 5, 6, 7, 8) * 2, "x", False),
        ((7,) * 20, "x", True),
        ((7,) * 8, "x", False),
        ((50, 51, 7, 8, 7, 8, 7, 8, 7, 8, 7, 8, 7, 8, 7, 8, 52), "x", True),
        ((1, 2, 3, 4, 10, 1, 2, 3, 4, 11, 1, 2, 3, 4, 12, 1, 2, 3, 4, 13, 1, 2, 3, 4, 14), "x", False),
        (
            tuple(range(60)),
            "Pour quitter, appuyez sur 8. Pour activer ou désactiver le mode sourdine, veuillez appuyer sur 1. Pour "
            "verrouiller ou déverrouiller la conférence, appuyez sur 2. Pour éjecter le dernier participant, appuyez "
            "sur 3. Pour réduire ou augmenter le volume de la conférence, appuyez sur 4 ou 6.",
            False,
        ),
        (tuple(range(50)), "merci " * 20, True),
        (tuple(range(3)), "oui oui oui", False),
    ],
)
def test_loops(tokens: tuple[int, ...], text: str, expected: bool) -> None:
    assert loops(tokens, text) is expected


_ONCE = tuple(range(100, 114))


@pytest.mark.parametrize(
    ("tokens", "full", "twice", "looping"),
    [
        (_ONCE, False, False, False),
        (_ONCE, True, False, False),
        (_ONCE * 2, False, True, False),  # a person may say a sentence twice
        (_ONCE * 2 + _ONCE[:11], True, True, True),
        ((1, 2, 3, 4) * 2, True, False, False),
    ],
)
def test_a_sentence_that_comes_twice_is_a_loop_if_only_the_cap_ends_it(
    tokens: tuple[int, ...], full: bool, twice: bool, looping: bool
) -> None:
    found = whisper._Result(tokens, "x", -0.2, full)
    assert (found.said_twice, found.loops) == (twice, looping)


def test_a_sentence_heard_twice_is_heard_again_in_a_full_window(
    recognizer: WhisperRecognizer, speech: dict[str, FloatArray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop was seen once in a device test: 'Il n'y a qu'un seul participant dans cette conférence.' 2.8 times."""
    expected = recognizer.transcribe(speech["vm-nonumber"], 0, CancelToken()).text
    windows: list[float] = []
    encode, decode = WhisperRecognizer._encode, WhisperRecognizer._decode

    def encoded(
        self: WhisperRecognizer, graphs: Graphs, samples: FloatArray, window_s: float, cancel: CancelToken
    ) -> None:
        windows.append(window_s)
        encode(self, graphs, samples, window_s, cancel)

    def decoded(
        self: WhisperRecognizer, graphs: Graphs, seconds: float, language: str, cancel: CancelToken, temperature: float
    ) -> whisper._Result:
        if len(windows) == 1:
            return whisper._Result(_ONCE * 2 + _ONCE[:11], "x", -0.2, full=True)
        return decode(self, graphs, seconds, language, cancel, temperature)

    monkeypatch.setattr(WhisperRecognizer, "_encode", encoded)
    monkeypatch.setattr(WhisperRecognizer, "_decode", decoded)
    assert words(recognizer.transcribe(speech["vm-nonumber"], 0, CancelToken()).text) == words(expected)
    assert windows[1:] == [30.0]


def test_longest_pause_is_inside_the_silence() -> None:
    sound = np.random.default_rng(1).uniform(-0.5, 0.5, 160_000).astype(np.float32)
    sound[90_000:98_000] = 0.0
    assert 90_000 <= longest_pause(sound) <= 98_000
    sound[10_000:20_000] = 0.0  # longer, but outside the middle half
    assert 90_000 <= longest_pause(sound) <= 98_000
    assert longest_pause(sound, (0.0, 0.3)) in range(10_000, 20_000)


@pytest.mark.parametrize("n", [0, 1, 100, 9000])
def test_longest_pause_of_a_short_sound_is_its_middle(n: int) -> None:
    assert longest_pause(np.zeros(n, np.float32)) == n // 2
