"""One recogniser on a list of clips, in a process of its own: what `kazeia bench stt` starts.

    python -m kazeia_desktop.cli.stt_engines NAME < job.json

Prints {"seconds": [...], "ms": [...], "texts": [...]}: length, time to the final transcript and text of each clip.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kazeia_desktop.frames import CAPTURE_RATE_HZ, FloatArray


def _kazeia(job: dict[str, Any]) -> tuple[Callable[[FloatArray], str], dict[str, list[float]]]:
    from kazeia_desktop.runtime.cancel import CancelToken
    from kazeia_desktop.settings.schema import SttSettings
    from kazeia_desktop.stt.whisper import WhisperRecognizer

    settings = SttSettings(threads=job["threads"], language=job["language"], precision=job["precision"])
    recognizer = WhisperRecognizer(Path(job["model_dir"]), settings)
    stages: dict[str, list[float]] = {"encoder_ms": [], "decoder_ms_per_token": []}

    def transcribe(samples: FloatArray) -> str:
        found = recognizer.transcribe(samples, 0, CancelToken())
        stages["encoder_ms"].append(found.encoder_ms)
        stages["decoder_ms_per_token"].append(found.decoder_ms_per_token)
        return found.text

    return transcribe, stages


def _faster_whisper(job: dict[str, Any]) -> tuple[Callable[[FloatArray], str], dict[str, list[float]]]:
    import faster_whisper

    source = Path(job["model_dir"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)  # CTranslate2 wants its own vocabulary file beside the weights
        for file in ("model.bin", "config.json", "tokenizer.json"):
            (folder / file).symlink_to(source / file)
        tokenizer = json.loads((source / "tokenizer.json").read_text("utf-8"))
        ids = dict(tokenizer["model"]["vocab"]) | {t["content"]: t["id"] for t in tokenizer["added_tokens"]}
        ordered = [token for token, _ in sorted(ids.items(), key=lambda item: item[1])]
        (folder / "vocabulary.json").write_text(json.dumps(ordered), "utf-8")
        model = faster_whisper.WhisperModel(
            str(folder), device="cpu", compute_type=job.get("compute_type", "int8"), cpu_threads=job["threads"]
        )

    def transcribe(samples: FloatArray) -> str:
        segments, _ = model.transcribe(
            samples,
            language=job["language"],
            beam_size=1,
            temperature=0.0,
            condition_on_previous_text=False,
            without_timestamps=True,
        )
        return " ".join(segment.text.strip() for segment in segments)

    return transcribe, {}


def _whispercpp(job: dict[str, Any]) -> tuple[Callable[[FloatArray], str], dict[str, list[float]]]:
    from pywhispercpp.model import Model

    model = Model(
        job["whispercpp"],
        n_threads=job["threads"],
        language=job["language"],
        print_progress=False,
        print_realtime=False,
        no_context=True,
        single_segment=False,
        redirect_whispercpp_logs_to=None,
    )
    return lambda samples: " ".join(segment.text.strip() for segment in model.transcribe(samples)), {}


_MAKERS = {"kazeia": _kazeia, "faster-whisper int8": _faster_whisper, "whisper.cpp q8_0": _whispercpp}


def main() -> None:
    """Read the job, transcribe, print the result."""
    from kazeia_desktop.audio.wav import read_wav

    job: dict[str, Any] = json.load(sys.stdin)
    clips = [read_wav(Path(clip))[0] for clip in job["clips"]]
    transcribe, stages = _MAKERS[sys.argv[1]](job)
    transcribe(clips[0])  # the first run allocates
    for values in stages.values():
        values.clear()
    ms, texts = [], []
    for clip in clips:
        started = time.perf_counter()
        texts.append(transcribe(clip))
        ms.append(round((time.perf_counter() - started) * 1000, 2))
    record: dict[str, Any] = {"seconds": [len(clip) / CAPTURE_RATE_HZ for clip in clips], "ms": ms, "texts": texts}
    record |= {name: round(float(np.median(values)), 2) for name, values in stages.items()}
    sys.stdout.write("\n" + json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
