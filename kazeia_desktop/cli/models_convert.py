"""`kazeia models convert` and `make-random`: Kazeia's own voice from its published files, or from chance."""

import argparse
import sys
from pathlib import Path

from kazeia_desktop.cli.output import Subparsers, print_json, print_text
from kazeia_desktop.cli.progress import ProgressBar
from kazeia_desktop.errors import UsageError
from kazeia_desktop.translations import system_language, translate

DTYPES = ("f32", "f16", "q8_0", "q4_0")


def register(actions: Subparsers) -> None:
    """Add `models convert`."""
    parser = actions.add_parser(
        "convert", help="make Kazeia's own voice from the published Qwen3-TTS files",
        description="Convert Qwen3-TTS: the official directory (config.json, model.safetensors, speech_tokenizer/), or "
        "llama.cpp's two GGUF files (talker and mmproj), or a directory that holds them.",
    )  # fmt: skip
    parser.add_argument("source", metavar="SRC", nargs="+", type=Path, help="a directory, or two GGUF files")
    parser.add_argument("target", metavar="DST", type=Path, help="the directory to write")
    parser.add_argument("--dtype", choices=DTYPES, default="q8_0", help="of the matrices (q8_0)")
    parser.add_argument("--force", action="store_true", help="replace a converted model that is there")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=_convert)


def _convert(options: argparse.Namespace) -> int:
    from kazeia_desktop.models.convert.convert import convert
    from kazeia_desktop.models.convert.detect import open_source

    if len(options.source) > 2:
        raise UsageError("Say one directory, or two GGUF files, and where to write.")
    bar = ProgressBar(options.target.name)
    try:
        made = convert(open_source(options.source), options.target, options.dtype, force=options.force, report=bar.show)
    except KeyboardInterrupt:
        bar.close()
        sys.stderr.write(translate("Stopped. Nothing was written.", system_language()) + "\n")
        return 130
    finally:
        bar.close()
    files = {name: {"bytes": file.bytes, "sha256": file.sha256} for name, file in made.manifest.files.items()}
    total = sum(file.bytes for file in made.manifest.files.values())
    if options.json:
        print_json(
            {
                "target": str(made.directory),
                "name": made.manifest.description.name,
                "dtype": made.manifest.dtype,
                "bytes": total,
                "seconds": round(made.seconds, 3),
                "files": files,
            }
        )
    else:
        told = {"name": made.manifest.description.name, "path": str(made.directory)}
        print_text(translate("{name}: ready in {path}", system_language(), **told))
    return 0
