"""Whisper's ONNX graphs beside the CTranslate2 weights: written at the first use, without PyTorch, and then kept."""

import contextlib
import logging
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelError, ModelIncompatibleError
from kazeia_desktop.runtime.leftovers import remove_leftovers
from kazeia_desktop.stt import stamp
from kazeia_desktop.stt.ctranslate2_file import WhisperWeights

_log = logging.getLogger(__name__)

SLOTS: Final = 200
"""Tokens that one window can hold: the prompt and what is recognised. 30 s of fast speech is about 150."""
VERSION: Final = 2
"""Of the graphs; a new one exports anew."""
PRECISIONS: Final[dict[str, tuple[str, ...]]] = {"float32": (), "mixed": ("decoder",), "int8": ("encoder", "decoder")}
"""Precision -> the graphs whose matrix products have 8-bit weights, with activations quantised as they come.

Whisper base on 26 French clips, 2 AVX512-VNNI cores, word errors and mean time of a clip up to 4.5 s: float32
14.0 %, 558 ms; mixed 13.6 %, 271 ms; int8 17.2 %, 188 ms. The encoder is what loses by 8 bits.
"""
_GRAPHS: Final = ("encoder.onnx", "decoder.onnx")


def ensure_graphs(model_dir: Path, precision: str, progress: Callable[[str], None] | None = None) -> Path:
    """The folder with encoder.onnx and decoder.onnx for a model, written now where it is not there or damaged.

    Args:
        model_dir: model.bin, config.json and tokenizer.json.
        precision: one of PRECISIONS.
        progress: told "encoder", "decoder" as each is begun.
    Raises:
        ModelError: the weights are missing, damaged or of another kind, or the folder cannot be written.
    """
    if precision not in PRECISIONS:
        raise ModelIncompatibleError(
            "There is no precision {precision}: use mixed, int8 or float32.", precision=precision
        )
    target = model_dir / f"onnx-{precision}-v{VERSION}"
    source = stamp.fingerprint(model_dir / "model.bin")
    if stamp.holds(target, source, _GRAPHS):
        return target
    from kazeia_desktop.stt import onnx_graphs  # onnx: a tenth of a second and 12 MB, for the first use only

    weights = WhisperWeights(model_dir)
    _log.info("writing Whisper's graphs for %s, %s", model_dir.name, precision)
    remove_leftovers(model_dir, ".onnx-*")
    try:
        with tempfile.TemporaryDirectory(dir=model_dir, prefix=".onnx-") as folder:
            work = Path(folder)
            for name, build in (("encoder", onnx_graphs.build_encoder), ("decoder", onnx_graphs.build_decoder)):
                if progress is not None:
                    progress(name)
                onnx_graphs.write(build(weights), work / f"{name}.onnx", in_8_bits=name in PRECISIONS[precision])
            done = work / "done"
            done.mkdir()
            for name in _GRAPHS:
                (work / name).rename(done / name)
            stamp.write(done, source, _GRAPHS)
            _put(done, target, source, aside=work / "old")
        for old in model_dir.glob(f"onnx-{precision}-v*"):
            if old != target:
                shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise ModelError(
            "The graphs of {model} cannot be written to {folder} ({reason}): free space or check permissions.",
            model=model_dir.name,
            folder=str(model_dir),
            reason=error.strerror or str(error),
        ) from error
    return target


def _put(done: Path, target: Path, source: str, aside: Path) -> None:
    """Move a finished export into place; another process may do the same at the same time.

    What another process has open there stays readable: it is moved aside, not overwritten.
    """
    with contextlib.suppress(FileNotFoundError):
        if stamp.holds(target, source, _GRAPHS):
            return
        target.rename(aside)
    try:
        done.rename(target)
    except OSError:
        if not stamp.holds(target, source, _GRAPHS):
            raise
