"""Kazeia's own voice: Qwen3-TTS, text in, sound out, streamed.

Three models in a row: the talker makes one token and one hidden state for every 80 ms of speech, the code
predictor the other 15 codes of that frame, the codec decoder the sound. Source: Qwen3-TTS technical report,
arXiv:2601.15621.
"""

import contextlib
import itertools
import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop._native import (
    CodePredictor,
    CodePredictorModel,
    NativeTalkerModel,
    Pcg32,
    SamplerOptions,
    TalkerModel,
    ThreadTeam,
)
from kazeia_desktop.errors import InferenceError
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.voice_description import Sampling
from kazeia_desktop.formats.voice_manifest import VoiceManifest, load_manifest
from kazeia_desktop.frames import FloatArray, IntArray, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.cores import read_cores
from kazeia_desktop.tts.codec import CodecDecoder, CodecStream
from kazeia_desktop.tts.qwen3_batch import Batch
from kazeia_desktop.tts.qwen3_clause import Spoken
from kazeia_desktop.tts.qwen3_files import first_not_finite, load_code_predictor, load_codec, load_talker
from kazeia_desktop.tts.qwen3_generator import Choices, Course, FrameGenerator, Speech
from kazeia_desktop.tts.qwen3_options import SpeechOptions, SpeechStats, Voice, account
from kazeia_desktop.tts.qwen3_prompt import PromptBuilder
from kazeia_desktop.tts.qwen3_stream import SpeechStream
from kazeia_desktop.tts.qwen3_talker import TalkerSession
from kazeia_desktop.tts.qwen3_text import N_ROLE, Pieces, TextTokenizer, counted
from kazeia_desktop.tts.speaker_encoder import SpeakerEncoder

FRAMES_PER_S: Final = 12.5
_POSITIONS: Final = 1024
"""A minute of speech with its prompt; 117 MB of state in the 0.6B model."""
_POLL_S: Final = 0.02
_GREEDY: Final = SamplerOptions(0.0, 0, 1.0)


class Qwen3Tts:
    """The engine. `synthesize` and `generate_codes` take turns; the rest may be called from any thread.

    Attributes:
        manifest: what the model directory says of itself.
        stats: of the last utterance.
    """

    def __init__(
        self,
        manifest: VoiceManifest,
        talker_file: GgufFile,
        llama: TalkerModel,
        talker: NativeTalkerModel | None,
        code_predictor: CodePredictorModel,
        codec: CodecDecoder,
        model_dir: Path,
        threads: int,
        codec_threads: int,
    ) -> None:
        self.manifest = manifest
        self.stats = SpeechStats()
        self._description = manifest.description
        self._llama = llama
        self._talker = talker
        self._code_predictor_model = code_predictor
        self._codec = codec
        self._model_dir = model_dir
        self._speaker_encoder: SpeakerEncoder | None = None
        self._text = TextTokenizer(llama)
        self._prompts = PromptBuilder(self._description, talker_file.tensor("token_embd.weight"))
        self._threads = threads
        self._lock = threading.Lock()
        self._codec_threads = codec_threads
        self._team_sizes = (0, 0)
        self._make_generator(threads, threads)
        self._codec_stream = codec.stream()

    @classmethod
    def load(
        cls, model_dir: Path, threads: int = 2, codec_threads: int | None = None, talker: str = "native"
    ) -> "Qwen3Tts":
        """Open a directory written by `kazeia models convert`.

        Args:
            talker: "native" for our kernels, "llama" for llama.cpp, which is the reference.
        Raises:
            ModelError: a file is missing, damaged, or of another kind; says which, and which part of it.
        """
        model_dir = Path(model_dir)
        manifest = load_manifest(model_dir)
        # Side by side: most of it is in native code, on one core each.
        with ThreadPoolExecutor(1, "codec") as other:
            coming = other.submit(load_codec, model_dir, manifest, codec_threads or threads)
            talker_file, llama, native = load_talker(model_dir, manifest, native=talker == "native")
            code_predictor = load_code_predictor(model_dir, manifest)
            codec = coming.result()
        return cls(
            manifest, talker_file, llama, native, code_predictor, codec, model_dir, threads, codec_threads or threads
        )

    @property
    def speaker_encoder(self) -> SpeakerEncoder | None:
        """What learns voices, loaded when it is first asked for; None for a model that cannot.

        Raises:
            ModelError: its file is missing or damaged.
        """
        if self._speaker_encoder is None and self._description.speaker_encoder is not None:
            self._speaker_encoder = SpeakerEncoder.load(self._model_dir, self._threads)
        return self._speaker_encoder

    @property
    def sample_rate_hz(self) -> int:
        """Of all sound."""
        return self._codec.sample_rate_hz

    def tokenize(self, text: str) -> IntArray:
        """(n,) int32: the text as an assistant's turn, equal to the official processor's tokens."""
        return self._text.wrapped(text)

    def prefill_embeds(
        self, text: str, voice: Voice = None, language: str = "french", text_mode: str = "whole"
    ) -> tuple[FloatArray, FloatArray]:
        """What the talker hears before the first frame, and what the frames add.

        Returns:
            (T, hidden) prompt and (U, hidden) rows that frame after frame adds; after them, `tts_pad`.
        Raises:
            SettingsError: no such language, speaker, or a voice of another width.
        """
        tokens = self._text.text(text)
        prefix = self._prefix(voice, language)
        if text_mode == "whole":
            return self._prompts.whole(prefix, tokens), self._prompts.pad[None]
        rows = [self._prompts.text_row(int(token)) for token in tokens[1:]]
        return self._prompts.streamed(prefix, int(tokens[0])), np.stack([*rows, self._prompts.end])

    def speaker_embedding(self, audio: FloatArray) -> FloatArray:
        """The x-vector of a voice: (n,) float32 at 24 kHz to (hidden,) float32.

        Raises:
            InferenceError: the model has no speaker encoder, or the sound is too short or not finite.
        """
        encoder = self.speaker_encoder
        if encoder is None:
            raise InferenceError(
                "The voice model {model} cannot learn voices: use one of its own.", model=self._description.name
            )
        return encoder.embed(audio)

    def frame_embeds(self, codes: IntArray) -> FloatArray:
        """(T, 16) int32 codes to (T, hidden): the sum of the 16 embeddings, and tts_pad."""
        return np.stack([self._predictor.frame_embedding(row, self._prompts.pad) for row in codes])

    def talker_session(self) -> TalkerSession:
        """A sequence of the talker, for other front ends and for tests; its threads are its own."""
        return self._new_session(ThreadTeam(self._threads))

    def talker_forward(self, embeds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(T, hidden) embeddings to hidden states (T, hidden) and logits (T, 3072) of all positions."""
        return self.talker_session().forward(embeds)

    def code_predictor_logits(self, hidden: FloatArray, codes: IntArray) -> FloatArray:
        """(hidden,) state and (16,) codes, each fed as if it had been drawn: (15, 2048) float32."""
        return self._predictor.logits(hidden, codes)

    def code_predictor_greedy(self, hidden: FloatArray, code0: int) -> IntArray:
        """(15,) int32: the most likely codes."""
        return self._predictor.predict(hidden, code0, _GREEDY, Pcg32(0))

    def decode_codes(self, codes: IntArray) -> FloatArray:
        """(T, 16) int32 to (T * 1920,) float32."""
        return self._codec.decode(codes)

    def codec_stream(self) -> CodecStream:
        """The codec's state for one utterance."""
        return self._codec.stream()

    def generate_codes(
        self,
        text: str,
        voice: Voice = None,
        language: str = "french",
        text_mode: str = "whole",
        greedy: bool = True,
        max_frames: int = 200,
        seed: int = 0,
    ) -> IntArray:
        """The codes of a text, with the official processors: (T, 16) int32."""
        told = self._description
        talker, others = told.talker_sampling, told.code_predictor_sampling
        if greedy:
            talker = Sampling(0.0, 0, 1.0, talker.repetition_penalty)
            others = Sampling(0.0, 0, 1.0)
        speech = self._speech([text], voice, SpeechOptions(language, text_mode))
        never = CancelToken()
        with self._lock, self._blaming():
            self._session.resume()
            frames = list(self._generator.frames(speech, seed, talker, others, 0, max_frames, never, never))
        return np.stack(frames) if frames else np.zeros((0, 16), np.int32)

    def synthesize(
        self, text: str | Iterable[str], voice: Voice, options: SpeechOptions, cancel: CancelToken
    ) -> Generator[SpeechFrame, None, None]:
        """Speak a text, whole or still coming piece by piece (text_mode "streamed").

        Yields sound as soon as it exists; the last frame has end_of_clause set and no samples. When cancelled,
        iteration ends; an iterator of text that waits for more should end then too, since it cannot be interrupted.
        Afterwards `stats` tells what it took. A text that does not end by itself is begun once more with another
        seed, if nothing of it was heard yet.

        Raises:
            InferenceError: a model failed.
            ModelError: it failed because a file is damaged; says which, and which part of it.
            SettingsError: no such language, speaker, or a voice of another width.
        """
        with self._mine(cancel) as mine, self._blaming():
            if not mine:
                return
            began = time.perf_counter()
            kept_s = 0.0
            self.stats = stats = SpeechStats()
            source = Pieces([text] if isinstance(text, str) else text)
            seed = _seed(options)
            for attempt in range(2):
                stats.seed, stats.retries = seed + attempt, attempt
                stream = self._stream(source.again(), voice, options, stats.seed)
                held: list[FloatArray] = []
                # Closed here, not when it is collected: its thread ends before another utterance may begin.
                with contextlib.closing(stream.sound(cancel)) as sounds:
                    for sound in sounds:
                        stats.chunks += 1
                        if not options.stream_frames:
                            held.append(sound)
                            continue
                        if stats.ttfa_ms is None:
                            stats.ttfa_ms = (time.perf_counter() - began) * 1000
                        mark = time.perf_counter()
                        yield SpeechFrame(0, 0, sound, self.sample_rate_hz)
                        kept_s += time.perf_counter() - mark
                stats.elapsed_s = time.perf_counter() - began - kept_s
                generator = self._generator
                account(stats, generator.times, generator.stop, stream.codes, stream.codec_s)
                if cancel.is_set():
                    stats.stop = "cancel"
                    return
                heard = stream.audible and bool(options.stream_frames)
                if stats.stop == "eos" or options.max_frames is not None or heard:
                    break
            for sound in held:
                stats.ttfa_ms = (time.perf_counter() - began) * 1000
                yield SpeechFrame(0, 0, sound, self.sample_rate_hz)
            yield SpeechFrame(0, 0, np.zeros(0, np.float32), self.sample_rate_hz, end_of_clause=True)

    def synthesize_all(
        self, given: Iterable[Spoken], cancel: CancelToken, more: Callable[[], Spoken | None] = lambda: None
    ) -> Generator[SpeechFrame, None, None]:
        """Speak several texts, in order, as `synthesize` speaks each, made up to four at once: in less time.

        Yields the sound of one after the other, each with a last frame that has end_of_clause set and no samples;
        `stats` is then that text's. A text gets the codes that it gets alone with the same seed. With llama.cpp's
        talker they are made one after the other.

        Args:
            given: begin together.
            more: the next text where one waits, or None, at once. Called from another thread, when all given are
                generated, until nothing waits and all is heard.
        Raises: as `synthesize`; for a text that cannot be spoken so, after all before it.
        """
        waiting = list(given)
        if self._session.side_by_side == 1:
            while (spoken := waiting.pop(0) if waiting else more()) is not None and not cancel.is_set():
                yield from self.synthesize(spoken.text, spoken.voice, spoken.options, cancel)
            return
        with self._mine(cancel) as mine, self._blaming():
            if not mine:
                return
            self._session.resume()
            batch = Batch(
                self._begun, self._session, self._predictor, self._codec_stream, waiting,
                lambda spoken: _seed(spoken.options), more,
                self._codec.samples_per_frame, self._codec.max_frames, self._in_turn(),
            )  # fmt: skip
            nothing = np.zeros(0, np.float32)
            with contextlib.closing(batch.sound(cancel)) as sounds:
                for part, sound in sounds:
                    if sound is None:
                        self.stats = part.stats()
                    yield SpeechFrame(
                        0, 0, nothing if sound is None else sound, self.sample_rate_hz, end_of_clause=sound is None
                    )
            if cancel.is_set():
                self.stats = SpeechStats(stop="cancel")

    def _begun(self, spoken: Spoken, seed: int) -> tuple[Speech, Course]:
        options = spoken.options
        speech = self._speech([spoken.text], spoken.voice, options)
        choices = Choices(options.talker, options.code_predictor, options.penalty_window, options.max_frames)
        return speech, self._generator.course(speech, seed, choices)

    @contextlib.contextmanager
    def _mine(self, cancel: CancelToken) -> Iterator[bool]:
        """Waits for the utterance of another thread; False when cancelled meanwhile."""
        while not self._lock.acquire(timeout=_POLL_S):
            if cancel.is_set():
                yield False
                return
        try:
            yield True
        finally:
            self._lock.release()

    @contextlib.contextmanager
    def _blaming(self) -> Iterator[None]:
        """Where figures are not finite, the weight that is to blame is looked for, and told instead."""
        try:
            yield
        except InferenceError as error:
            if "not finite" in str(error.values.get("reason")):
                damage = first_not_finite(self._model_dir, self.manifest)
                if damage is not None:
                    raise damage from error
            raise

    def set_threads(self, talker: int, code_predictor: int) -> None:
        """Waits for the utterance under way.

        Raises:
            InferenceError: the system has no more threads; those before stay.
        """
        with self._lock:
            self._make_generator(talker, code_predictor)

    def set_codec_threads(self, threads: int) -> None:
        """Open the codec again for another number of threads. Waits for the utterance under way.

        Raises:
            ModelError: it is missing or damaged by now; the one before stays.
        """
        with self._lock:
            self._codec = load_codec(self._model_dir, self.manifest, threads)
            self._codec_stream = self._codec.stream()
            self._codec_threads = threads

    def _make_generator(self, talker: int, code_predictor: int) -> None:
        """Both models on one team, as they never work at once; on two where they have different numbers of threads."""
        if self._team_sizes == (talker, code_predictor):
            return
        try:
            team = ThreadTeam(code_predictor)
            of_talker = team if talker == code_predictor else ThreadTeam(talker)
        except RuntimeError as error:
            raise InferenceError(
                "The system gives the voice no {n} threads ({reason}): set fewer, or close other programs.",
                n=max(talker, code_predictor),
                reason=str(error),
            ) from error
        self._team_sizes = (talker, code_predictor)
        self._predictor = CodePredictor(self._code_predictor_model, team)
        self._session = self._new_session(of_talker)
        self._generator = FrameGenerator(self._description, self._prompts, self._session, self._predictor)

    def _in_turn(self) -> bool:
        """Whether generator and codec each take all cores."""
        return min(*self._team_sizes, self._codec_threads) >= read_cores().n_physical

    def _new_session(self, team: ThreadTeam) -> TalkerSession:
        positions = min(_POSITIONS, self._description.talker.max_positions)
        kv_f32 = self.manifest.dtype == "f32"
        if self._talker is not None:
            return TalkerSession.native(self._talker, team, positions, kv_f32)
        return TalkerSession.on_llama(self._llama, positions, team.n_threads, kv_f32)

    def _prefix(self, voice: Voice, language: str) -> FloatArray:
        return self._prompts.prefix(self._text.wrapped("")[:N_ROLE], voice, language)

    def _speech(self, pieces: Iterable[str], voice: Voice, options: SpeechOptions) -> Speech:
        prefix = self._prefix(voice, options.language)
        if options.text_mode == "whole":
            text = "".join(pieces)
            prompt = self._prompts.whole(prefix, self._text.text(text))
            return Speech(prompt, len(prefix), iter(()), [len(text.encode("utf-8", "replace"))])
        n_bytes = [0]
        tokens = self._text.pieces(counted(pieces, n_bytes))
        prompt_row = next(tokens, None)
        rows = itertools.chain((self._prompts.text_row(token) for token in tokens), [self._prompts.end])
        if prompt_row is None:
            rows = itertools.chain(())
        return Speech(self._prompts.streamed(prefix, prompt_row), len(prefix), rows, n_bytes)

    def _stream(self, pieces: Iterable[str], voice: Voice, options: SpeechOptions, seed: int) -> SpeechStream:
        def frames(stop: CancelToken, silent: CancelToken) -> Iterator[IntArray]:
            speech = self._speech(pieces, voice, options)
            yield from self._generator.frames(
                speech, seed, options.talker, options.code_predictor, options.penalty_window, options.max_frames,
                stop, silent,
            )  # fmt: skip

        self._session.resume()
        self._codec_stream.reset()
        return SpeechStream(
            frames, self._codec_stream, self._codec.samples_per_frame, options.stream_frames, self._session.cancel,
            options.ramp, self._in_turn(),
        )  # fmt: skip


def _seed(options: SpeechOptions) -> int:
    return secrets.randbits(31) if options.seed is None else options.seed
