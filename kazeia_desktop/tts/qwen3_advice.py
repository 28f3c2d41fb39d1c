"""What to tell of the speed of Kazeia's own voice, and which lighter weights would make it fast enough.

The generator (talker and code predictor) reads all of its weights for every frame, so its time goes with their size;
the codec's weights stay float32. With b bits a weight now and b' in another type, of a voice that takes r times as long
as it speaks and whose generator has the part g of the work (threads times time),

    r' = r (1 - g + g b' / b)

which is a little hopeful: unpacking smaller weights costs a few per cent.
"""

from typing import Final

from kazeia_desktop.events import Notice
from kazeia_desktop.tts.qwen3_tuning import Tuning

BITS: Final = {"f32": 32.0, "f16": 16.0, "q8_0": 8.5, "q4_0": 4.5}
"""A weight's share of its block, scale included; the heaviest first."""
USUAL_SHARE: Final = 2 / 3
"""The generator's part where nothing was measured: q8_0 on two cores with AVX2."""


TOLD_FROM: Final = 1.05
"""From here it is told as 1.1 times; a speed around 1 changes from clause to clause."""


def estimated_rtf(rtf: float, generator_share: float, dtype: str, lighter: str) -> float:
    """The speed with the weights of another type; see above."""
    return rtf * (1 - generator_share + generator_share * BITS[lighter] / BITS[dtype])


def real_time_dtype(rtf: float, generator_share: float, dtype: str) -> tuple[str, float] | None:
    """The lighter type that loses least and would be real time, and its speed; None: none would."""
    for lighter, bits in BITS.items():
        if bits < BITS.get(dtype, 0.0):
            estimate = estimated_rtf(rtf, generator_share, dtype, lighter)
            if estimate <= 1.0:
                return lighter, estimate
    return None


def slowness(rtf: float, generator_share: float, dtype: str) -> Notice | None:
    """One line for a voice that is slower than it speaks; None where it is not."""
    if rtf < TOLD_FROM:
        return None
    better = real_time_dtype(rtf, generator_share, dtype)
    if better is None:
        return Notice(
            "Kazeia's own voice takes {rtf} times as long as it speaks on this machine, and no lighter weights would "
            "be fast enough. The light voice is: choose the engine “kokoro” in the settings, under Voice.",
            {"rtf": round(rtf, 1)},
        )
    return Notice(
        "Kazeia's own voice takes {rtf} times as long as it speaks on this machine. With {dtype} weights it would "
        "take about {estimate} times: run `kazeia models convert` with --dtype {dtype}. The light voice is faster "
        "still: choose the engine “kokoro” in the settings, under Voice.",
        {"rtf": round(rtf, 1), "dtype": better[0], "estimate": round(better[1], 1)},
    )


def told(tuning: Tuning | None) -> Notice:
    """What was measured and chosen, for the settings and `kazeia doctor`."""
    if tuning is None:
        return Notice("The voice's threads are not measured yet: Kazeia does it at the first quiet moment.", {})
    return Notice(
        "Measured on this machine: threads: {threads}, of the codec: {codec_threads}, frames a piece: {pieces}. The "
        "voice takes {rtf} times as long as it speaks.",
        {
            "threads": tuning.team.generator,
            "codec_threads": tuning.team.codec,
            "pieces": ", ".join(map(str, tuning.ramp)),
            "rtf": round(tuning.rtf, 2),
        },
    )
