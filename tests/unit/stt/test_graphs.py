"""The exported graphs compute Whisper, one token at a time in buffers that stay."""

import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kazeia_desktop.errors import Cancelled, InferenceError, ModelCorruptError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.stt.ctranslate2_file import WhisperWeights
from kazeia_desktop.stt.export import SLOTS, ensure_graphs
from kazeia_desktop.stt.graphs import PROMPT, Graphs
from tests.unit.stt.tiny_whisper import MELS, VOCAB, NumpyWhisper, tiny_model

pytestmark = pytest.mark.unit

_PROMPT = [3, 7, 1, 9]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("models") / "tiny")


def loaded(model: Path, precision: str = "float32") -> Graphs:
    return Graphs(ensure_graphs(model, precision), WhisperWeights(model).shape, threads=1)


def some_mel(n: int, seed: int = 5) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((MELS, 2 * n)).astype(np.float32)


@pytest.mark.parametrize("n", [1, 2, 25, 26])
def test_float32_graphs_compute_what_numpy_computes(model: Path, n: int) -> None:
    graphs, numpy, mel = loaded(model), NumpyWhisper(), some_mel(n)
    graphs.encode(mel, CancelToken())
    heard = numpy.encode(mel)
    tokens = list(_PROMPT)
    logits = graphs.decode(tokens, CancelToken())
    np.testing.assert_allclose(logits, numpy.logits(tokens, heard), atol=1e-4)
    for token in np.random.default_rng(n).integers(0, VOCAB, 12).tolist():
        tokens.append(token)
        logits = graphs.decode([token], CancelToken())
        np.testing.assert_allclose(logits, numpy.logits(tokens, heard), atol=1e-4)


@pytest.mark.parametrize("precision", ["mixed", "int8"])
def test_8_bits_are_close(model: Path, precision: str) -> None:
    graphs, numpy, mel = loaded(model, precision), NumpyWhisper(), some_mel(25)
    graphs.encode(mel, CancelToken())
    exact = numpy.logits(_PROMPT, numpy.encode(mel))
    error = graphs.decode(_PROMPT, CancelToken()) - exact
    assert 0 < np.abs(error).max() < 0.15 * np.abs(exact).max()  # 0: nothing was quantised


def test_a_window_knows_nothing_of_the_one_before(model: Path) -> None:
    graphs, fresh = loaded(model), loaded(model)
    graphs.encode(some_mel(300, seed=1), CancelToken())
    graphs.decode(_PROMPT, CancelToken())
    for token in range(40):
        graphs.decode([token], CancelToken())
    graphs.encode(some_mel(20, seed=2), CancelToken())
    fresh.encode(some_mel(20, seed=2), CancelToken())
    for tokens in (_PROMPT, [5], [6]):
        again = graphs.decode(tokens, CancelToken()).copy()
        np.testing.assert_allclose(again, fresh.decode(tokens, CancelToken()), atol=1e-6)


def test_rewound_it_decodes_the_same_window_again(model: Path) -> None:
    graphs = loaded(model)
    graphs.encode(some_mel(20), CancelToken())
    first = graphs.decode(_PROMPT, CancelToken()).copy()
    for token in range(10):
        graphs.decode([token], CancelToken())
    graphs.rewind()
    np.testing.assert_array_equal(graphs.decode(_PROMPT, CancelToken()), first)


def test_every_slot_is_used_and_not_one_more(model: Path) -> None:
    graphs, numpy, mel = loaded(model), NumpyWhisper(), some_mel(10)
    graphs.encode(mel, CancelToken())
    tokens = list(_PROMPT)
    graphs.decode(tokens, CancelToken())
    for i in range(SLOTS - PROMPT):
        tokens.append(i % VOCAB)
        logits = graphs.decode(tokens[-1:], CancelToken())
    assert len(tokens) == SLOTS
    np.testing.assert_allclose(logits, numpy.logits(tokens, numpy.encode(mel)), atol=1e-4)
    with pytest.raises(InferenceError, match="full"):
        graphs.decode([1], CancelToken())


def test_a_token_costs_no_memory(model: Path) -> None:
    graphs = loaded(model)
    graphs.encode(some_mel(10), CancelToken())
    where = graphs.decode(_PROMPT, CancelToken()).ctypes.data
    token = [4]
    graphs.decode(token, CancelToken())
    tracemalloc.start()
    try:
        for _ in range(50):
            logits = graphs.decode(token, CancelToken())
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert logits.ctypes.data == where
    # Another thread's objects are counted as well, a few kB; one key-value cache alone is 25 kB each time.
    assert held < 20_000
    assert peak < 20_000


def test_cancel_stops_before_the_next_token(model: Path) -> None:
    graphs, cancel = loaded(model), CancelToken()
    graphs.encode(some_mel(10), CancelToken())
    graphs.decode(_PROMPT, cancel)
    steps = graphs.n_steps
    cancel.set()
    with pytest.raises(Cancelled):
        graphs.decode([1], cancel)
    assert graphs.n_steps == steps


class _SetWhenAsked(CancelToken):
    """Set by the second question: the first comes before the encoder runs."""

    __slots__ = ("asked",)

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def is_set(self) -> bool:
        self.asked += 1
        self.set()
        return True


class _Held:
    """The encoder's session, running until it is told to stop."""

    def __init__(self, session: Any) -> None:  # noqa: ANN401
        self._session = session
        self.stopped = threading.Event()

    def io_binding(self) -> Any:  # noqa: ANN401
        return self._session.io_binding()

    def run_with_iobinding(self, binding: Any, options: Any) -> None:  # noqa: ANN401
        while not options.terminate:
            time.sleep(0)
        self.stopped.set()
        self._session.run_with_iobinding(binding, options)


def test_cancel_stops_the_encoder_between_two_nodes(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, cancel = loaded(model), _SetWhenAsked()
    graphs.encode(some_mel(5), CancelToken())
    held = _Held(graphs._encoder)
    monkeypatch.setattr(graphs, "_encoder", held)
    with pytest.raises(Cancelled):
        graphs.encode(some_mel(1500), cancel)
    assert held.stopped.is_set()
    assert cancel.asked
    with pytest.raises(InferenceError, match="nothing"):
        graphs.decode(_PROMPT, CancelToken())
    monkeypatch.undo()
    mel, fresh = some_mel(20), loaded(model)
    graphs.encode(mel, CancelToken())
    fresh.encode(mel, CancelToken())
    again = graphs.decode(_PROMPT, CancelToken()).copy()
    np.testing.assert_allclose(again, fresh.decode(_PROMPT, CancelToken()), atol=1e-6)


def test_cancelled_before_it_begins_the_encoder_does_not_run(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, cancel = loaded(model), CancelToken()
    monkeypatch.setattr(graphs, "_encoder", None)
    cancel.set()
    with pytest.raises(Cancelled):
        graphs.encode(some_mel(10), cancel)


def test_ctrl_c_while_the_encoder_runs_waits_for_its_end(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it writes into may be freed only when it has ended."""

    class Interrupted(CancelToken):
        __slots__ = ()

        def is_set(self) -> bool:
            raise KeyboardInterrupt

    graphs = loaded(model)
    held = _Held(graphs._encoder)
    monkeypatch.setattr(graphs, "_encoder", held)
    with pytest.raises(KeyboardInterrupt):
        graphs.encode(some_mel(10), Interrupted())
    assert held.stopped.is_set()


def test_what_the_encoder_refuses_is_told_in_one_line(model: Path) -> None:
    graphs = loaded(model)
    with pytest.raises(InferenceError) as caught:
        graphs.encode(np.zeros((MELS + 1, 20), np.float32), CancelToken())
    assert "\n" not in str(caught.value)


def test_what_onnx_runtime_refuses_is_told_in_one_line(model: Path) -> None:
    graphs = loaded(model)
    graphs.encode(some_mel(10), CancelToken())
    with pytest.raises(InferenceError) as caught:
        graphs.decode([1, 2, 3, VOCAB + 5], CancelToken())  # no such token
    assert "\n" not in str(caught.value)


def test_graphs_that_are_none_are_named(model: Path, tmp_path: Path) -> None:
    for name in ("encoder", "decoder"):
        (tmp_path / f"{name}.onnx").write_bytes(b"nothing")
    with pytest.raises(ModelCorruptError) as caught:
        Graphs(tmp_path, WhisperWeights(model).shape, 1)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
