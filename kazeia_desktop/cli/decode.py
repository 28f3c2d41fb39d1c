"""`kazeia decode`: codec codes to sound."""

import argparse
import time
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.errors import AudioFormatError, ModelMissingError
from kazeia_desktop.frames import IntArray
from kazeia_desktop.translations import system_language, translate

_LARGEST_BYTES: Final = 1 << 28
"""Four hours of codes."""


def register(commands: Subparsers) -> None:
    """Add `decode`."""
    parser = commands.add_parser(
        "decode",
        help="codec codes to sound",
        description="Decodes the codes that `kazeia say --codes-out` wrote: int32 of shape (frames, 16).",
    )
    parser.add_argument("codes", type=Path, metavar="F.npy")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT.wav", required=True)
    parser.add_argument("--model", metavar="DIR", help="a directory of `kazeia models convert`; default: the setting")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, decode, write."""
    from kazeia_desktop.audio.wav import write_wav
    from kazeia_desktop.runtime.cores import read_cores
    from kazeia_desktop.settings.store import with_value
    from kazeia_desktop.tts.codec import CodecDecoder
    from kazeia_desktop.tts.qwen3_tuning import default_team
    from kazeia_desktop.tts.voice_store import own_voice_dir

    codes = _read(options.codes)
    paths, settings = load_settings()
    if options.model is not None:
        settings = with_value(settings, "tts.model", options.model)
    folder = own_voice_dir(paths, settings)
    if folder is None:
        raise ModelMissingError(
            "Kazeia's own voice is not installed: convert a Qwen3-TTS model with `kazeia models convert`."
        )
    decoder = CodecDecoder.load(folder, settings.tts.codec_threads or default_team(read_cores()).codec)
    began = time.perf_counter()
    sound = decoder.decode(codes)
    codec_ms = (time.perf_counter() - began) * 1000
    write_wav(options.output, sound, decoder.sample_rate_hz)
    if options.json:
        print_json(
            {
                "frames": len(codes),
                "codec_ms": round(codec_ms / max(len(codes), 1), 2),
                "audio_seconds": round(len(sound) / decoder.sample_rate_hz, 3),
                "output": str(options.output),
            }
        )
    else:
        seconds = len(sound) / decoder.sample_rate_hz
        told = translate("{seconds:.1f} s of speech in {path}", system_language(), seconds=seconds, path=options.output)
        print_text(told)
    return 0


def _read(path: Path) -> IntArray:
    """The codes of a .npy file; nothing in it is executed."""
    reason = ""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            reason = "too large"
        else:
            codes = np.load(path, allow_pickle=False)
            if isinstance(codes, np.ndarray) and codes.ndim == 2 and codes.dtype.kind in "iu":
                return codes.astype(np.int32)
            reason = "no whole numbers of shape (frames, 16)"
    except FileNotFoundError:
        reason = "no such file"
    except (OSError, ValueError, EOFError) as error:
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
    raise AudioFormatError(
        "{path} holds no codes ({reason}): give a file of `kazeia say --codes-out`.", path=path, reason=reason
    )
