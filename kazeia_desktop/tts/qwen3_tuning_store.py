"""What was measured of a voice on this machine, kept in a file: losing it costs three seconds of measuring."""

import contextlib
import hashlib
import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from kazeia_desktop import __version__
from kazeia_desktop.formats.voice_manifest import VoiceManifest, load_manifest
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cores import Cores, read_cores
from kazeia_desktop.runtime.small_files import read_record, write_record
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.tts.qwen3_tuning import Team, Tuning
from kazeia_desktop.tts.voice_store import own_voice_dir
from kazeia_desktop.tts.voices import engine_of

_log = logging.getLogger(__name__)

FILE: Final = "voice_tuning.json"
_VERSION: Final = 1
_KEPT: Final = 32
_MOST_THREADS: Final = 32
_LARGEST_PIECE: Final = 8
_LARGEST_FIGURE: Final = 1e9


class TuningStore:
    """One file; each call reads it anew, so that several processes may share it. A damaged one counts as empty."""

    def __init__(self, file: Path, cores: Cores) -> None:
        self.file = file
        self.cores = cores

    @classmethod
    def of(cls, paths: Paths, cores: Cores) -> "TuningStore":
        """The installation's."""
        return cls(paths.cache_dir / FILE, cores)

    def get(self, manifest: VoiceManifest, talker: str) -> Tuning | None:
        """What was chosen for this model on this processor by this version; None: nothing yet, or unreadable."""
        return _tuning(self._entries().get(self._key(manifest, talker)))

    def put(self, manifest: VoiceManifest, talker: str, tuning: Tuning) -> None:
        """Keep it. A file that cannot be written is logged: it is measured again at the next start."""
        entries = self._entries()
        key = self._key(manifest, talker)
        entries.pop(key, None)
        entries[key] = asdict(tuning)
        while len(entries) > _KEPT:
            entries.pop(next(iter(entries)))
        try:
            write_record(self.file, _VERSION, {"entries": entries})
        except OSError as error:
            _log.info("the voice's tuning cannot be kept (%s)", error.strerror or error)

    def forget(self, manifest: VoiceManifest, talker: str) -> None:
        """Measure again at the next use."""
        entries = self._entries()
        if entries.pop(self._key(manifest, talker), None) is not None:
            with contextlib.suppress(OSError):
                write_record(self.file, _VERSION, {"entries": entries})

    def _key(self, manifest: VoiceManifest, talker: str) -> str:
        """Names may be anything: the key is their hash behind what a person can read."""
        parts = [manifest.description.name, manifest.dtype, talker, self.cores.name, str(self.cores.n), __version__]
        return f"{manifest.dtype} {hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]}"

    def _entries(self) -> dict[str, Any]:
        entries = read_record(self.file, _VERSION).get("entries")
        return entries if isinstance(entries, dict) else {}


def measured_voice(paths: Paths, settings: Settings) -> tuple[VoiceManifest, Tuning | None] | None:
    """The converted model that the settings name, and what was measured of it; None where there is none, or another
    engine is to speak.

    Raises:
        ModelError: it is named and not there, or damaged.
    """
    tts = settings.tts
    if tts.engine not in ("auto", "qwen3") or (tts.engine == "auto" and engine_of(tts.voice)):
        return None
    folder = own_voice_dir(paths, settings)
    if folder is None:
        return None
    manifest = load_manifest(folder)
    return manifest, TuningStore.of(paths, read_cores()).get(manifest, tts.talker)


def _tuning(record: object) -> Tuning | None:
    """The record, where every value is one that `choose` could have made."""
    if not isinstance(record, dict):
        return None
    try:
        team, ramp = record["team"], record["ramp"]
        threads = [team["generator"], team["codec"]]
        figures = [record[name] for name in ("rtf", "generator_share", "first_ms")]
    except (KeyError, TypeError):
        return None
    whole = [*threads, *ramp] if isinstance(ramp, list) and 1 <= len(ramp) <= 16 else [None]
    if not all(type(n) is int and n >= 1 for n in whole):
        return None
    if max(threads) > _MOST_THREADS or max(ramp) > _LARGEST_PIECE:
        return None
    if not all(type(x) in (int, float) and 0 <= x <= _LARGEST_FIGURE for x in figures):  # no NaN is between
        return None
    rtf, share, first_ms = map(float, figures)
    if not 0 < rtf < 1000 or share > 1:
        return None
    return Tuning(Team(*threads), tuple(ramp), rtf, share, first_ms)
