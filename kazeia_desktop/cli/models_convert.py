"""`kazeia models convert` and `make-random`: Kazeia's own voice, or a language model with other types."""

import argparse
import sys
from pathlib import Path

from kazeia_desktop.cli.output import Subparsers, print_json, print_text
from kazeia_desktop.cli.progress import ProgressBar
from kazeia_desktop.errors import ModelMissingError, UsageError
from kazeia_desktop.paths import Paths
from kazeia_desktop.translations import system_language, translate

DTYPES = ("f32", "f16", "q8_0", "q4_0")
SIZES = ("0.6b", "1.7b", "tiny")
VOCABULARY = "qwen2.5-coder-0.5b"


def register(actions: Subparsers) -> None:
    """Add `models convert` and `models make-random`."""
    parser = actions.add_parser(
        "convert", help="make Kazeia's own voice from the published Qwen3-TTS files, or requantise a language model",
        description="Convert Qwen3-TTS: the official directory (config.json, model.safetensors, speech_tokenizer/), or "
        "llama.cpp's two GGUF files (talker and mmproj), or a directory that holds them. One GGUF file is a language "
        "model: without --dtype only its token embedding and output change, to the 4-bit type that it has elsewhere; "
        "with a 4-bit --dtype they get that type too.",
    )  # fmt: skip
    parser.add_argument("source", metavar="SRC", nargs="+", type=Path, help="a directory, or one or two GGUF files")
    parser.add_argument("target", metavar="DST", type=Path, help="the directory to write, or the GGUF file")
    parser.add_argument(
        "--dtype", help=f"of the matrices; voice: {', '.join(DTYPES)} (q8_0); language model: also q4_k_m, q6_k, ..."
    )
    parser.add_argument("--pure", action="store_true", help="language model: every matrix of the one type")
    parser.add_argument("--force", action="store_true", help="replace a converted model that is there")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=_convert)
    random = actions.add_parser(
        "make-random", help="a Qwen3-TTS of random weights, to measure speed with",
        description="Write a Qwen3-TTS checkpoint of seeded random weights in the official layout. The vocabulary is "
        "that of the starter language model.",
    )  # fmt: skip
    random.add_argument("target", metavar="DIR", type=Path, help="the directory to write")
    random.add_argument("--size", choices=SIZES, default="0.6b", help="0.6b (2.0 GB), 1.7b (4.0 GB) or tiny")
    random.add_argument("--seed", type=_seed, default=1, help="the same seed gives the same model")
    random.add_argument("--json", action="store_true", help="one JSON object on stdout")
    random.set_defaults(run=_make_random)


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 1 << 63:
        raise argparse.ArgumentTypeError(text)
    return value


def _convert(options: argparse.Namespace) -> int:
    from kazeia_desktop.models.convert.convert import convert
    from kazeia_desktop.models.convert.detect import open_source
    from kazeia_desktop.models.convert.requantize import is_language_model

    if len(options.source) == 1 and is_language_model(options.source[0]):
        return _requantize(options)
    if len(options.source) > 2:
        raise UsageError("Say one directory, or two GGUF files, and where to write.")
    dtype = options.dtype or "q8_0"
    if dtype not in DTYPES:
        raise UsageError("There is no --dtype {dtype}: choose one of {dtypes}.", dtype=dtype, dtypes=", ".join(DTYPES))
    if options.pure:
        raise UsageError("--pure is for a language model's GGUF file.")
    bar = ProgressBar(options.target.name)
    try:
        made = convert(open_source(options.source), options.target, dtype, force=options.force, report=bar.show)
    except KeyboardInterrupt:
        return _stopped(bar)
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


def _requantize(options: argparse.Namespace) -> int:
    from kazeia_desktop.models.convert.requantize import requantize

    bar = ProgressBar(options.target.name)
    try:
        made = requantize(
            options.source[0], options.target, options.dtype, pure=options.pure, force=options.force, report=bar.show
        )
    except KeyboardInterrupt:
        return _stopped(bar)
    finally:
        bar.close()
    if options.json:
        told = {"target": str(made.path), "dtype": made.dtype, "bytes": made.bytes}
        print_json({**told, "seconds": round(made.seconds, 3)})
    else:
        told = {"name": made.path.name, "path": str(made.path.parent)}
        print_text(translate("{name}: ready in {path}", system_language(), **told))
    return 0


def _make_random(options: argparse.Namespace) -> int:
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.convert.random_model import make_random
    from kazeia_desktop.models.store import ModelStore

    store = ModelStore(Paths.from_environment().models_dir, Catalog.load())
    vocabulary = store.file(VOCABULARY, store.catalog.entry(VOCABULARY).files[0].name)
    if not vocabulary.exists():
        raise ModelMissingError(
            "The vocabulary comes from the model {name}, which is not here: run `kazeia models get {name}`.",
            name=VOCABULARY,
        )
    bar = ProgressBar(options.target.name)
    try:
        made = make_random(options.target, options.size, options.seed, vocabulary, bar.show)
    except KeyboardInterrupt:
        return _stopped(bar)
    finally:
        bar.close()
    if options.json:
        told = {"target": str(made.directory), "size": options.size, "seed": options.seed, "bytes": made.bytes}
        print_json({**told, "seconds": round(made.seconds, 3)})
    else:
        name = options.target.name
        print_text(translate("{name}: ready in {path}", system_language(), name=name, path=str(made.directory)))
    return 0


def _stopped(bar: ProgressBar) -> int:
    bar.close()
    sys.stderr.write(translate("Stopped. Nothing was written.", system_language()) + "\n")
    return 130
