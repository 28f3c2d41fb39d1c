"""The classes of the native voice as Python sees them; that their figures are right is tests/golden's to show."""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop._native import ISAS, _core
from kazeia_desktop.frames import FloatArray, IntArray
from tests.golden.code_predictor_reference import SETS, GoldenSet, Shape, Tensor, load, packed
from tests.native.programs import python

pytestmark = pytest.mark.native

GREEDY = _core.SamplerOptions(0.0, 0, 1.0)
USUAL = _core.SamplerOptions(0.9, 50, 1.0)
NONE = np.zeros(0, np.int32)
GOLDEN = load(SETS[0])


def shape_of(golden: GoldenSet, **changed: float) -> dict[str, float]:
    return {name: getattr(golden.shape, name) for name in Shape.__slots__} | changed


def model_of(tensors: dict[str, Tensor], **changed: float) -> _core.CodePredictorModel:
    return _core.CodePredictorModel(
        shape_of(GOLDEN, **changed), GOLDEN.shape.talker_hidden, GOLDEN.shape.talker_vocab, tensors
    )


@pytest.fixture(scope="module")
def tensors() -> dict[str, Tensor]:
    return packed(GOLDEN.weights, "q8_0")


@pytest.fixture(scope="module")
def predictor(tensors: dict[str, Tensor]) -> _core.CodePredictor:
    return _core.CodePredictor(model_of(tensors), _core.ThreadTeam(2))


class TestSampler:
    def test_published_numbers(self) -> None:
        random = _core.Pcg32(42, 54)
        assert [random.next() for _ in range(3)] == [0xA15C02B7, 0x7B47F409, 0xBA1D3330]
        assert 0.0 <= random.next_double() < 1.0
        assert _core.Pcg32(2**64 - 1).next() != _core.Pcg32(0).next()
        with pytest.raises(TypeError):
            _core.Pcg32(-1)

    def test_draws_follow_the_seed(self) -> None:
        logits = np.random.default_rng(1).normal(size=2048).astype(np.float32)

        def draw(seed: int) -> list[int]:
            sampler, random = _core.Sampler(), _core.Pcg32(seed)
            return [sampler.sample(logits, USUAL, random, NONE) for _ in range(20)]

        assert draw(1) == draw(1)
        assert draw(1) != draw(2)
        assert set(draw(1)) <= set(np.argsort(-logits)[:50].tolist())

    def test_penalty_leaves_the_logits_alone(self) -> None:
        logits = np.array([2.0, 1.9, -1.0], np.float32)
        before = logits.copy()
        options = _core.SamplerOptions(0.0, 0, 1.0, 1.2)
        said = np.array([0, 0, -5, 77], np.int32)
        assert _core.Sampler().sample(logits, options, _core.Pcg32(0), said) == 1
        assert _core.Sampler().sample(logits, GREEDY, _core.Pcg32(0), said) == 0
        assert np.array_equal(logits, before)

    @pytest.mark.parametrize("odd", [np.nan, np.inf])
    def test_no_figure_no_token(self, odd: float) -> None:
        logits = np.array([0.0, odd, 1.0], np.float32)
        assert _core.Sampler().sample(logits, USUAL, _core.Pcg32(0), NONE) == -1
        assert _core.Sampler().sample(np.zeros(0, np.float32), USUAL, _core.Pcg32(0), NONE) == -1

    def test_shapes(self) -> None:
        with pytest.raises(ValueError, match="one dimension"):
            _core.Sampler().sample(np.zeros((2, 3), np.float32), USUAL, _core.Pcg32(0), NONE)
        with pytest.raises(ValueError, match="one dimension"):
            _core.Sampler().sample(np.zeros(3, np.float32), USUAL, _core.Pcg32(0), NONE.reshape(0, 1))


@pytest.mark.parametrize("n_threads", [0, 65, 2**31])
def test_a_team_has_1_to_64_threads(n_threads: int) -> None:
    assert _core.ThreadTeam(3).n_threads == 3
    with pytest.raises(ValueError, match=f"a team of {n_threads} threads"):
        _core.ThreadTeam(n_threads)


class TestModel:
    def test_bytes_of_a_frame(self, tensors: dict[str, Tensor]) -> None:
        def matrices(beginning: str) -> int:
            return sum(t[3].nbytes for name, t in tensors.items() if name.startswith(beginning) and t[1] > 1)

        assert model_of(tensors).n_bytes_per_frame == 15 * matrices("blk.") + matrices("head.")

    @pytest.mark.parametrize(
        "name", ["blk.1.attn_q.weight", "output_norm.weight", "head.15.weight", "codec_embd.0.weight"]
    )
    @pytest.mark.parametrize(
        "change",
        [
            lambda kind, rows, cols, data: None,
            lambda kind, rows, cols, data: (kind, rows + 8, cols, data),
            lambda kind, rows, cols, data: (kind, rows, cols * 2, data),
            lambda kind, rows, cols, data: (kind, rows, cols, data[:-1]),
            lambda kind, rows, cols, data: (kind, rows, cols, data[:0]),
            lambda kind, rows, cols, data: (kind, 2**62, 2**62, data),
            lambda kind, rows, cols, data: (kind, -1, cols, data),
            lambda kind, rows, cols, data: (kind, str(rows), cols, data),
            lambda kind, rows, cols, data: ("q5_k", rows, cols, data),
            lambda kind, rows, cols, data: (1, rows, cols, data),
            lambda kind, rows, cols, data: (kind, rows, cols, data.view(np.int8)),
            lambda kind, rows, cols, data: (kind, rows, cols, np.repeat(data, 2)[::2]),
            lambda kind, rows, cols, data: (kind, rows, cols, data.tolist()),
            lambda kind, rows, cols, data: (kind, rows, cols),
            lambda kind, rows, cols, data: data,
        ],
    )
    def test_a_wrong_tensor_is_named(
        self, tensors: dict[str, Tensor], name: str, change: Callable[..., Tensor | None]
    ) -> None:
        changed = dict(tensors)
        wrong = change(*changed.pop(name))
        if wrong is not None:
            changed[name] = wrong
        with pytest.raises(ValueError, match=name.replace(".", r"\.")):
            model_of(changed)

    @pytest.mark.parametrize(
        "changed",
        [
            {"hidden": 0},
            {"hidden": 2**40},
            {"layers": 2**40},
            {"heads": 3},
            {"kv_heads": 0},
            {"head_dim": 100},
            {"rope_theta": 0.0},
            {"rms_norm_eps": float("nan")},
            {"codebooks": 0},
            {"vocab": 63},
        ],
    )
    def test_dimensions_that_do_not_fit(self, tensors: dict[str, Tensor], changed: dict[str, float]) -> None:
        with pytest.raises(ValueError, match=r"dimensions do not fit together|^tensor "):
            model_of(tensors, **changed)

    def test_a_missing_dimension(self, tensors: dict[str, Tensor]) -> None:
        shape = shape_of(GOLDEN)
        del shape["ffn"]
        with pytest.raises(KeyError, match="ffn"):
            _core.CodePredictorModel(shape, GOLDEN.shape.talker_hidden, GOLDEN.shape.talker_vocab, tensors)

    def test_it_keeps_what_it_reads(self, tensors: dict[str, Tensor]) -> None:
        """The caller's dictionary and arrays may go; the embedding tables' memory stays, read-only arrays' too."""
        copies = {name: (*t[:3], t[3].copy()) for name, t in tensors.items()}
        for tensor in copies.values():
            tensor[3].flags.writeable = False
        model = model_of(copies)
        copies.clear()
        _ = [np.full(1 << 16, 255, np.uint8) for _ in range(50)]
        predictor = _core.CodePredictor(model, _core.ThreadTeam(1))
        del model
        want = _core.CodePredictor(model_of(tensors), _core.ThreadTeam(1))
        assert np.array_equal(predict(predictor, 3), predict(want, 3))


def predict(predictor: _core.CodePredictor, frame: int, seed: int | None = None) -> IntArray:
    options = GREEDY if seed is None else USUAL
    return predictor.predict(GOLDEN.hidden[frame], int(GOLDEN.codes[frame, 0]), options, _core.Pcg32(seed or 0))


class TestCodePredictor:
    def test_shapes_of_what_comes_back(self, predictor: _core.CodePredictor) -> None:
        codes = predict(predictor, 0)
        assert codes.shape == (15,) and codes.dtype == np.int32
        logits = predictor.logits(GOLDEN.hidden[0], GOLDEN.codes[0])
        assert logits.shape == (15, GOLDEN.shape.vocab) and logits.dtype == np.float32
        embedding = predictor.frame_embedding(GOLDEN.codes[0], None)
        assert embedding.shape == (GOLDEN.shape.talker_hidden,) and embedding.dtype == np.float32

    def test_codes_follow_the_seed_and_no_number_of_threads(self, tensors: dict[str, Tensor]) -> None:
        model = model_of(tensors)
        found = {}
        for n_threads in (1, 2, 3):
            predictor = _core.CodePredictor(model, _core.ThreadTeam(n_threads))
            found[n_threads] = [predict(predictor, frame, seed).tolist() for frame in range(3) for seed in (1, 2)]
            assert [predict(predictor, frame, seed).tolist() for frame in range(3) for seed in (1, 2)] == found[1]
        assert found[1][0] != found[1][1]

    def test_one_team_serves_two_in_turn(self, tensors: dict[str, Tensor]) -> None:
        model, team = model_of(tensors), _core.ThreadTeam(2)
        first, second = _core.CodePredictor(model, team), _core.CodePredictor(model, team)
        assert np.array_equal(predict(first, 1, 5), predict(second, 1, 5))
        assert np.array_equal(predict(first, 1, 5), predict(second, 1, 5))

    def test_two_teams_at_once(self, tensors: dict[str, Tensor]) -> None:
        """One model, two threads: the lock of the interpreter is free, and neither disturbs the other."""
        model = model_of(tensors)
        want = predict(_core.CodePredictor(model, _core.ThreadTeam(1)), 2, 9)
        found: list[bool] = []

        def repeat() -> None:
            predictor = _core.CodePredictor(model, _core.ThreadTeam(2))
            found.append(all(np.array_equal(predict(predictor, 2, 9), want) for _ in range(20)))

        threads = [threading.Thread(target=repeat) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [True, True]

    @pytest.mark.parametrize(
        "hidden",
        [np.zeros(63, np.float32), np.zeros(65, np.float32), np.zeros((1, 64), np.float32), np.float32(0), np.zeros(0)],
    )
    def test_shape_of_hidden(self, predictor: _core.CodePredictor, hidden: FloatArray) -> None:
        for call in (
            lambda: predictor.predict(hidden, 0, GREEDY, _core.Pcg32(0)),
            lambda: predictor.logits(hidden, GOLDEN.codes[0]),
            lambda: predictor.frame_embedding(GOLDEN.codes[0], hidden),
        ):
            with pytest.raises(ValueError, match=r"must have shape \(64,\)"):
                call()

    @pytest.mark.parametrize("codes", [np.zeros(15, np.int32), np.zeros(17, np.int32), np.zeros((1, 16), np.int32)])
    def test_shape_of_codes(self, predictor: _core.CodePredictor, codes: IntArray) -> None:
        with pytest.raises(ValueError, match=r"codes must have shape \(16,\)"):
            predictor.logits(GOLDEN.hidden[0], codes)
        with pytest.raises(ValueError, match=r"codes must have shape \(16,\)"):
            predictor.frame_embedding(codes, None)

    def test_other_types_and_strides_are_converted(self, predictor: _core.CodePredictor) -> None:
        state, codes = GOLDEN.hidden[0], GOLDEN.codes[0]
        want = predictor.logits(state, codes)
        for hidden in (state.astype(np.float64), np.repeat(state, 2)[::2], state.tolist()):
            for given in (codes.astype(np.int64), np.repeat(codes, 3)[::3], codes.tolist()):
                assert np.array_equal(predictor.logits(hidden, given), want)
                assert np.array_equal(predictor.frame_embedding(given, hidden), predictor.frame_embedding(codes, state))

    @pytest.mark.parametrize("wrong", ["hello", None, object(), ["a"] * 64])
    def test_what_is_no_array(self, predictor: _core.CodePredictor, wrong: object) -> None:
        with pytest.raises((TypeError, ValueError)):
            predictor.predict(wrong, 0, GREEDY, _core.Pcg32(0))  # type: ignore[arg-type]

    @pytest.mark.parametrize("code", [-1, GOLDEN.shape.talker_vocab, 2**31 - 1, -(2**31)])
    def test_codes_out_of_range(self, predictor: _core.CodePredictor, code: int) -> None:
        with pytest.raises(ValueError, match=f"code {code} is none of codebook 0"):
            predictor.predict(GOLDEN.hidden[0], code, GREEDY, _core.Pcg32(0))
        for book in range(16):
            codes = np.zeros(16, np.int32)
            codes[book] = code
            said = f"code {code} is none of codebook {book}"
            with pytest.raises(IndexError, match=said):
                predictor.frame_embedding(codes, None)
            if book < 15:  # the last is not fed
                with pytest.raises((ValueError, IndexError), match=said):
                    predictor.logits(GOLDEN.hidden[0], codes)
        with pytest.raises(TypeError):
            predictor.predict(GOLDEN.hidden[0], 2**31, GREEDY, _core.Pcg32(0))

    @pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
    def test_figures_that_are_none(self, predictor: _core.CodePredictor, odd: float) -> None:
        want = predict(predictor, 0, 4)
        state = GOLDEN.hidden[0].copy()
        state[7] = odd
        for options in (GREEDY, USUAL):
            with pytest.raises(RuntimeError, match="not finite"):
                predictor.predict(state, 0, options, _core.Pcg32(0))
        assert not np.isfinite(predictor.logits(state, GOLDEN.codes[0])).any()
        assert np.array_equal(predict(predictor, 0, 4), want), "the next frame must not remember"

    def test_times(self, tensors: dict[str, Tensor]) -> None:
        predictor = _core.CodePredictor(model_of(tensors), _core.ThreadTeam(1))
        assert predictor.take_times_ns() == (0, 0, 0)
        predict(predictor, 0)
        layers, heads, sampling = predictor.take_times_ns()
        assert layers > heads > 0
        assert sampling > 0
        assert predictor.take_times_ns() == (0, 0, 0)


SAY_CODES = """
import numpy as np
from kazeia_desktop import _native
from kazeia_desktop._native import _core
from tests.golden.code_predictor_reference import *
golden = load(SETS[0])
shape = {name: getattr(golden.shape, name) for name in Shape.__slots__}
model = _core.CodePredictorModel(shape, golden.shape.talker_hidden, golden.shape.talker_vocab,
                                 packed(golden.weights, "f32"))
predictor = _core.CodePredictor(model, _core.ThreadTeam(2))
logits = predictor.logits(golden.hidden[0], golden.codes[0])
print(_native.cpu_isa(), np.abs(logits - golden.logits[0]).max() < 1e-3, logits.tobytes().hex()[:4000])
"""


def test_a_forced_isa_computes() -> None:
    """Each is right, and no two families give the same last bits: it is not one of them under several names."""
    found = {}
    for isa in ISAS:
        program = python(SAY_CODES, KAZEIA_CPU_ISA=isa)
        if program.returncode != 0:
            assert "this processor does not run it" in program.stderr
            continue
        used, right, figures = program.stdout.split()
        assert (used, right) == (isa, "True")
        found[isa] = figures
    assert "scalar" in found
    families = [figures for isa, figures in found.items() if isa in ("scalar", "avx2", "neon")]
    assert len(set(families)) == len(families)
    if "avx512" in found:
        assert found["avx512"] == found["avx2"]


class TestTalker:
    """What needs no model file; the rest is in tests/golden."""

    def test_a_file_that_is_none(self, tmp_path: Path) -> None:
        for path in (tmp_path / "nowhere.gguf", tmp_path):
            with pytest.raises(_core.TalkerError, match=r"llama\.cpp cannot load"):
                _core.TalkerModel(str(path))
            with pytest.raises(_core.TalkerError, match=r"llama\.cpp cannot load"):
                _core.TalkerModel(str(path), vocab_only=True)
        assert issubclass(_core.TalkerError, Exception)


TALKER = {"hidden": 64, "layers": 2, "heads": 2, "kv_heads": 1, "head_dim": 32, "ffn": 96, "rope_theta": 1e6,
          "rms_norm_eps": 1e-6}  # fmt: skip
VOCAB = 40


def talker_tensors() -> dict[str, Tensor]:
    """Random weights of that shape, float32."""
    random = np.random.default_rng(1)
    queries, keys = 64, 32
    sizes = {"output.weight": (VOCAB, 64), "output_norm.weight": (64,)}
    for layer in range(2):
        sizes |= {
            f"blk.{layer}.{name}.weight": size
            for name, size in {
                "attn_norm": (64,), "attn_q_norm": (32,), "attn_k_norm": (32,), "ffn_norm": (64,),
                "attn_q": (queries, 64), "attn_k": (keys, 64), "attn_v": (keys, 64), "attn_output": (64, queries),
                "ffn_gate": (96, 64), "ffn_up": (96, 64), "ffn_down": (64, 96),
            }.items()
        }  # fmt: skip
    return packed({name: random.normal(size=size, scale=0.2).astype(np.float32) for name, size in sizes.items()}, "f32")


@pytest.fixture
def talker() -> _core.NativeTalker:
    return _core.NativeTalker(_core.NativeTalkerModel(TALKER, VOCAB, talker_tensors()), _core.ThreadTeam(2), 30, True)


class TestNativeTalker:
    EMBEDS = np.random.default_rng(2).normal(size=(30, 64)).astype(np.float32)

    def test_stepwise_as_whole(self, talker: _core.NativeTalker) -> None:
        assert (talker.n_embd, talker.n_vocab, talker.n_positions, talker.length) == (64, VOCAB, 30, 0)
        hidden, logits = talker.forward(self.EMBEDS)
        assert hidden.shape == (30, 64) and logits.shape == (30, VOCAB)
        for _ in range(2):
            steps = [talker.prefill(self.EMBEDS[:20], 5), *(talker.decode(row) for row in self.EMBEDS[20:])]
            assert np.array_equal([step[0] for step in steps], hidden[19:])
            assert np.array_equal([step[1] for step in steps], logits[19:])
            assert talker.length == 30
        talker.reset()
        assert talker.length == 0

    def test_its_memory_is_its_own(self) -> None:
        """Nothing of the tensors is kept: they may be a mapped file's that goes."""
        tensors = talker_tensors()
        model = _core.NativeTalkerModel(TALKER, VOCAB, tensors)
        matrices = sum(t[3].nbytes for t in tensors.values() if t[1] > 1)
        assert model.n_bytes == matrices
        want = _core.NativeTalker(model, _core.ThreadTeam(1), 30, True).forward(self.EMBEDS)[0]
        for tensor in tensors.values():
            tensor[3][:] = 255
        again = _core.NativeTalker(model, _core.ThreadTeam(1), 30, True).forward(self.EMBEDS)[0]
        assert np.array_equal(again, want) and np.isfinite(want).all()

    def test_times(self, talker: _core.NativeTalker) -> None:
        assert talker.take_times_ns() == (0, 0)
        talker.forward(self.EMBEDS)
        layers, head = talker.take_times_ns()
        assert layers > 0
        assert head > 0
        assert talker.take_times_ns() == (0, 0)

    def test_shapes(self, talker: _core.NativeTalker) -> None:
        for wrong in (np.zeros(64), np.zeros((0, 64)), np.zeros((2, 63)), np.zeros((1, 2, 64))):
            with pytest.raises(ValueError, match=r"embeds must have shape \(n, 64\)"):
                talker.prefill(wrong)
            with pytest.raises(ValueError, match=r"embeds must have shape \(n, 64\)"):
                talker.forward(wrong)
        with pytest.raises(ValueError, match=r"embed must have shape \(64,\)"):
            talker.decode(self.EMBEDS[:1])

    def test_too_long(self, talker: _core.NativeTalker) -> None:
        for n_prefix in (3, 4, 2**40):
            with pytest.raises(_core.TalkerError, match="after its constant beginning"):
                talker.prefill(self.EMBEDS[:3], n_prefix)
        talker.prefill(self.EMBEDS)
        with pytest.raises(_core.TalkerError, match="longer than 30 positions"):
            talker.decode(self.EMBEDS[0])
        with pytest.raises(_core.TalkerError, match="longer than 30 positions"):
            talker.forward(np.zeros((31, 64), np.float32))

    def test_cancelled_until_resumed(self, talker: _core.NativeTalker) -> None:
        want = talker.prefill(self.EMBEDS[:9])[1]
        talker.cancel()
        for _ in range(2):
            with pytest.raises(_core.TalkerError, match="cancelled"):
                talker.decode(self.EMBEDS[9])
        talker.resume()
        assert np.array_equal(talker.prefill(self.EMBEDS[:9])[1], want)

    @pytest.mark.parametrize("name", ["output.weight", "output_norm.weight", "blk.0.attn_k.weight"])
    def test_a_missing_tensor_is_named(self, name: str) -> None:
        tensors = talker_tensors()
        del tensors[name]
        with pytest.raises(ValueError, match=f"tensor {name} is missing"):
            _core.NativeTalkerModel(TALKER, VOCAB, tensors)

    def test_none_is_no_model(self) -> None:
        with pytest.raises(TypeError):
            _core.NativeTalker(None, _core.ThreadTeam(1), 30)  # type: ignore[arg-type]
        model = _core.NativeTalkerModel(TALKER, VOCAB, talker_tensors())
        with pytest.raises(TypeError):
            _core.NativeTalker(model, None, 30)  # type: ignore[arg-type]


def test_none_is_no_model(predictor: _core.CodePredictor, tensors: dict[str, Tensor]) -> None:
    with pytest.raises(TypeError):
        _core.TalkerSession(None, 100, 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _core.CodePredictor(None, _core.ThreadTeam(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _core.CodePredictor(model_of(tensors), None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        predictor.predict(GOLDEN.hidden[0], 0, None, _core.Pcg32(0))  # type: ignore[arg-type]


class TestSideBySide:
    """Several sequences at once: each gets what it gets alone."""

    def test_frames_of_several_sequences(self) -> None:
        predictor = _core.CodePredictor(model_of(packed(GOLDEN.weights, "f32")), _core.ThreadTeam(2))
        states, code0 = GOLDEN.hidden[:4], [int(codes[0]) for codes in GOLDEN.codes[:4]]
        options = [USUAL, GREEDY, USUAL, USUAL]
        alone = [
            predictor.predict(state, code, drawn, _core.Pcg32(seed))
            for seed, (state, code, drawn) in enumerate(zip(states, code0, options, strict=True))
        ]
        random = [_core.Pcg32(seed) for seed in range(4)]
        assert np.array_equal(predictor.predict_all(states, code0, options, random), np.stack(alone))
        for n in (0, 5):
            many = np.resize(states, (n, states.shape[1]))
            with pytest.raises(ValueError, match="1"):
                predictor.predict_all(many, [1] * n, [USUAL] * n, [_core.Pcg32(0)] * n)
        with pytest.raises(ValueError, match="each with its code"):
            predictor.predict_all(states, code0[:3], options, random)
        with pytest.raises(ValueError, match="none of codebook 0"):
            predictor.predict_all(states[:1], [-1], [USUAL], random[:1])
        with pytest.raises(RuntimeError, match="not finite"):
            predictor.predict_all(np.full_like(states, np.nan), code0, options, random)

    def test_sequences_of_the_talker(self, talker: _core.NativeTalker) -> None:
        embeds = TestNativeTalker.EMBEDS
        hidden, logits = talker.forward(embeds)
        with pytest.raises(IndexError, match="sequence 2 has no room"):
            talker.prefill_of(embeds[:5], 2, 2)
        talker.reserve(2, 12)
        with pytest.raises(_core.TalkerError, match="longer than 12 positions"):
            talker.prefill_of(embeds[:13], 2, 2)
        for sequence, n in ((0, 5), (2, 8)):
            last = talker.prefill_of(embeds[:n], 2, sequence)
            assert np.array_equal(last[0], hidden[n - 1]) and np.array_equal(last[1], logits[n - 1])
        for step in range(4):
            at = [5 + step, 8 + step]
            found = talker.decode_all([0, 2], embeds[at])
            assert np.array_equal(found[0], hidden[at]) and np.array_equal(found[1], logits[at])
        assert talker.length == 9
        with pytest.raises(_core.TalkerError, match="longer than 12 positions"):
            talker.decode_all([0, 2], embeds[:2])
        with pytest.raises(ValueError, match="a row for each sequence"):
            talker.decode_all([0], embeds[:2])
        with pytest.raises(ValueError, match="named twice"):
            talker.decode_all([0, 0], embeds[:2])
        talker.cancel()
        with pytest.raises(_core.TalkerError, match="cancelled"):
            talker.decode_all([0], embeds[:1])
