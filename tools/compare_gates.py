"""Whether the noise gate loses a word: recorded speech in noise, endpoints with and without it.

    .venv/bin/python tools/compare_gates.py [--every 40] [--snr 20 10 5]

Needs the Asterisk prompts and the speech detector's model. The noise is heard for seconds before anybody speaks, so
that the gate knows it.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kazeia_desktop.audio.resampler import resample  # noqa: E402
from kazeia_desktop.audio.wav import read_wav  # noqa: E402
from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, CAPTURE_RATE_HZ, AudioFrame, FloatArray  # noqa: E402
from kazeia_desktop.models.catalog import Catalog  # noqa: E402
from kazeia_desktop.models.store import ModelStore  # noqa: E402
from kazeia_desktop.paths import Paths  # noqa: E402
from kazeia_desktop.settings.schema import VadSettings  # noqa: E402
from kazeia_desktop.vad.base import SpeechGate  # noqa: E402
from kazeia_desktop.vad.endpointing import SpeechDetector, SpeechHeard, UtteranceEnded  # noqa: E402
from kazeia_desktop.vad.noise_gate import NoiseGate  # noqa: E402
from kazeia_desktop.vad.silero import SileroScorer  # noqa: E402
from kazeia_desktop.vad.webrtc import AlwaysOpenGate, WebRtcGate  # noqa: E402

FOLDERS = ("fr_CA_f_June", "fr", "fr_CA")
LEAD_S, TAIL_S = 8.0, 2.5
GATES: dict[str, Callable[[], SpeechGate]] = {
    "no gate": AlwaysOpenGate,
    "WebRTC's alone": WebRtcGate,
    "noise gate first": lambda: NoiseGate(WebRtcGate()),
}


def colored(n: int, seed: int, power: float) -> FloatArray:
    """(n,) of RMS 1; power 0 is white, 1 pink, 2 brown."""
    white = np.fft.rfft(np.random.default_rng(seed).normal(size=n))
    bins = np.maximum(np.arange(len(white)), n * 30 / CAPTURE_RATE_HZ)
    noise = np.fft.irfft(white * bins ** (-power / 2), n)
    made: FloatArray = (noise / np.sqrt(np.mean(noise**2))).astype(np.float32)
    return made


def fan(n: int, seed: int) -> FloatArray:
    """(n,) of RMS 1: rushing air that swells a little, blades and a motor."""
    t = np.arange(n) / CAPTURE_RATE_HZ
    air = colored(n, seed, 1.2) * (1 + 0.08 * np.sin(2 * np.pi * 0.4 * t))
    hum = sum(np.sin(2 * np.pi * 97.3 * k * t + k) / k for k in range(1, 9))
    noise = air + 0.3 * hum
    made: FloatArray = (noise / np.sqrt(np.mean(noise**2))).astype(np.float32)
    return made


NOISES: dict[str, Callable[[int, int], FloatArray]] = {
    "white": lambda n, seed: colored(n, seed, 0.0),
    "pink": lambda n, seed: colored(n, seed, 1.0),
    "fan": fan,
}


class Counted:
    """A scorer that counts how often it is asked."""

    def __init__(self, scorer: SileroScorer) -> None:
        self.scorer, self.asked = scorer, 0

    def probability(self, samples: FloatArray) -> float:
        self.asked += 1
        return self.scorer.probability(samples)

    def reset(self) -> None:
        self.scorer.reset()


def hear(gate: SpeechGate, scorer: Counted, sound: FloatArray) -> tuple[list[tuple[int, int]], int]:
    """First and last frame of each utterance; when somebody was first surely heard, in frames (-1: never)."""
    detector = SpeechDetector(gate, scorer, VadSettings())
    spans, heard = [], -1
    for at in range(len(sound) // CAPTURE_FRAME_SAMPLES):
        frame = sound[at * CAPTURE_FRAME_SAMPLES : (at + 1) * CAPTURE_FRAME_SAMPLES]
        for event in detector.push(AudioFrame(frame, (at + 1) * CAPTURE_FRAME_SAMPLES / CAPTURE_RATE_HZ)):
            if isinstance(event, UtteranceEnded):
                spans.append((at + 1 - len(event.samples) // CAPTURE_FRAME_SAMPLES, at))
            elif isinstance(event, SpeechHeard) and heard < 0:
                heard = at
    return spans, heard


def speeches(every: int) -> list[FloatArray]:
    """Prompts of the voices that are installed, at 16 kHz and one loudness."""
    found = []
    for folder in FOLDERS:
        for file in sorted((Path("/usr/share/asterisk/sounds") / folder).glob("*.wav"))[::every]:
            samples, rate_hz = read_wav(file)
            samples = resample(samples, rate_hz, CAPTURE_RATE_HZ)
            if len(samples) > CAPTURE_RATE_HZ // 2:
                found.append(samples * np.float32(0.1 / np.sqrt(np.mean(samples**2))))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=40)
    parser.add_argument("--snr", type=float, nargs="*", default=[20.0, 10.0, 5.0])
    options = parser.parse_args()
    store = ModelStore(Paths.from_environment().models_dir, Catalog.load())
    scorer = Counted(SileroScorer(store.require_weights("silero-vad")))
    clips = speeches(options.every)
    for noise, make in NOISES.items():
        for snr_db in options.snr:
            compare(noise, make, snr_db, clips, scorer)
    return 0


def compare(
    noise: str, make: Callable[[int, int], FloatArray], snr_db: float, clips: list[FloatArray], scorer: Counted
) -> None:
    """Prints one line for each gate."""
    found: dict[str, list[tuple[list[tuple[int, int]], int]]] = {name: [] for name in GATES}
    asked = dict.fromkeys(GATES, 0)
    n_frames = 0
    for seed, speech in enumerate(clips):
        sound = np.pad(speech, (int(LEAD_S * CAPTURE_RATE_HZ) + 97 * seed, int(TAIL_S * CAPTURE_RATE_HZ)))
        sound = sound + make(len(sound), seed) * np.float32(0.1 * 10 ** (-snr_db / 20))
        n_frames += len(sound) // CAPTURE_FRAME_SAMPLES
        for name, gate in GATES.items():
            scorer.reset()
            scorer.asked = 0
            found[name].append(hear(gate(), scorer, sound.astype(np.float32)))
            asked[name] += scorer.asked
    before = found["WebRTC's alone"]
    for name, results in found.items():
        same = sum(a[0] == b[0] for a, b in zip(results, before, strict=True))
        near = sum(is_near(a[0], b[0]) for a, b in zip(results, before, strict=True))
        late = max((a[1] - b[1] for a, b in zip(results, before, strict=True) if b[1] >= 0), default=0)
        begin = max((a[0][0][0] - b[0][0][0] for a, b in zip(results, before, strict=True) if a[0] and b[0]), default=0)
        lost = sum(a[1] < 0 <= b[1] for a, b in zip(results, before, strict=True))
        sys.stdout.write(
            f"{noise:6} {snr_db:3.0f} dB, {name:16}: as with WebRTC's alone {same} of {len(clips)}, within 2 frames "
            f"{near}, lost {lost}, latest begin {begin:+d} and light {late:+d} frames; "
            f"the scorer is asked for {asked[name] / n_frames:.0%}\n"
        )
    sys.stdout.flush()


def is_near(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> bool:
    """As many utterances, each within two frames of the other."""
    return len(one) == len(other) and all(
        abs(a - b) <= 2 for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True)
    )


if __name__ == "__main__":
    sys.exit(main())
