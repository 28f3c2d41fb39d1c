"""Voices that a person added: the clip they agreed to give, and the x-vectors made from it.

One folder a voice: voice.json, clip.wav (24 kHz, mono, 16-bit) and one xvector-MODEL.npy for each model. A folder
appears and goes as a whole: it is prepared under a name with a dot in front, then renamed.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import unicodedata
import wave
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from kazeia_desktop.errors import (
    KazeiaError,
    ModelCorruptError,
    ModelIncompatibleError,
    ModelMissingError,
    SettingsError,
)
from kazeia_desktop.formats import voice_manifest
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.tts.voice_files import (
    CLIP,
    LARGEST_RECORD,
    LONGEST_CONSENT,
    LONGEST_NAME,
    RATE_HZ,
    RECORD,
    Consent,
    XVector,
    as_float,
    printable,
    read_bytes,
    read_clip,
    read_record,
    read_vector,
    to_json,
)
from kazeia_desktop.tts.voice_files import AddedVoice as AddedVoice
from kazeia_desktop.tts.voices import BUILT_IN

_TAKEN: Final = frozenset(
    {voice.name for voice in BUILT_IN}
    | {"auto", "none", "con", "prn", "aux", "nul"}
    | {f"{port}{i}" for port in ("com", "lpt") for i in range(10)}
)
"""Built-in voices, words that settings use, and names that Windows keeps for devices."""


class Encoder(Protocol):
    """What makes x-vectors; `speaker_encoder.SpeakerEncoder` is one.

    fingerprint: of its weights, where known: two models may have one name, as a fine-tuned one and its origin.
    """

    width: int
    fingerprint: str

    def embed(self, audio: FloatArray) -> FloatArray:
        """(n,) float32 at 24 kHz -> (width,) float32."""
        ...


class VoiceStore:
    """The added voices below one folder, which may not exist yet. Safe from several threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def of(cls, paths: Paths) -> "VoiceStore":
        """The voices of this installation."""
        return cls(paths.data_dir / "voices")

    def folder_of(self, name: str) -> Path:
        """Where a voice is, there or not. Raises SettingsError for a name that no voice can have."""
        return self._folder / checked_name(name)

    def add(
        self,
        name: str,
        clip: FloatArray,
        consent: str,
        encoder: Encoder,
        model_name: str,
        source: str = "",
        replace: bool = False,
    ) -> AddedVoice:
        """Make a voice and keep it.

        Args:
            name: letters (with accents), digits, - and _; at most 40.
            clip: (n,) float32 mono at 24 kHz.
            consent: who agreed, when and how.
            encoder, model_name: the model that the x-vector is for.
            source: name of the file that the clip came from.
            replace: a voice of that name goes; otherwise it is an error.
        Raises:
            SettingsError: the name cannot be used or is taken, there is no consent, or the disk refuses.
            AudioFormatError, InferenceError: see Encoder.
        """
        name = checked_name(name)
        consent = " ".join(consent.split())
        if not consent or len(consent) > LONGEST_CONSENT:
            raise SettingsError(
                "A voice needs the consent of who speaks, in 1 to {longest} characters: who, when and how.",
                longest=LONGEST_CONSENT,
            )
        self.check_free(name, replace)
        pcm = np.clip(np.round(clip * 32768.0), -32768, 32767).astype("<i2")
        # From the samples as they are kept, so that computing it again gives the same voice.
        vector = encoder.embed(as_float(pcm))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        voice = AddedVoice(
            name=name,
            created=now,
            consent=Consent(text=printable(consent), noted=now),
            source=printable(source)[:300],
            clip_seconds=len(pcm) / RATE_HZ,
            xvectors=[_described(model_name, encoder)],
        )
        with self._telling(name):
            self._folder.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp(prefix=f".new-{name}-", dir=self._folder))  # readable by its owner only
            try:
                with wave.open(str(made / CLIP), "wb") as wav:
                    wav.setnchannels(1)
                    wav.setsampwidth(2)
                    wav.setframerate(RATE_HZ)
                    wav.writeframes(pcm.tobytes())
                np.save(made / voice.xvectors[0].file, vector)
                (made / RECORD).write_text(to_json(voice), "utf-8")
                self._put(made, name)
            finally:
                shutil.rmtree(made, ignore_errors=True)
        return voice

    def list(self) -> tuple[tuple[AddedVoice, ...], tuple[KazeiaError, ...]]:
        """Every voice, by name, all its files looked at; and one error for each that is damaged."""
        voices, problems = [], []
        for name in self._names():
            try:
                voice = self.get(name)
                read_clip(self._folder / name, voice)
                for vector in voice.xvectors:
                    read_vector(self._folder / name, vector)
                voices.append(voice)
            except KazeiaError as error:
                problems.append(error)
        return tuple(voices), tuple(problems)

    def get(self, name: str) -> AddedVoice:
        """What is known of a voice; its clip and x-vectors are not read.

        Raises:
            SettingsError: there is no such voice; says which there are.
            ModelCorruptError: its voice.json is damaged or missing.
        """
        return read_record(self._there(name))

    def clip(self, name: str) -> FloatArray:
        """(n,) float32 at 24 kHz: the recording that a voice was made from.

        Raises:
            SettingsError, ModelCorruptError: as `get`, or the recording is damaged.
        """
        return read_clip(self._there(name), self.get(name))

    def rename(self, name: str, new: str) -> AddedVoice:
        """Give a voice another name; the settings that name it are the caller's.

        Raises:
            SettingsError: there is no such voice, the new name cannot be used or is taken, or the disk refuses.
            ModelCorruptError: its voice.json is damaged.
        """
        folder, new = self._there(name), checked_name(new)
        voice = read_record(folder)
        if new == voice.name:
            return voice
        if new.casefold() != voice.name.casefold():
            self.check_free(new)
        voice = voice.model_copy(update={"name": new})
        with self._telling(folder.name):
            # A copy, put in place as a whole: a name in voice.json that is not the folder's would be damage.
            made = Path(tempfile.mkdtemp(prefix=f".new-{new}-", dir=self._folder))
            try:
                for file in folder.iterdir():
                    shutil.copyfile(file, made / file.name)
                (made / RECORD).write_text(to_json(voice), "utf-8")
                if new.casefold() == folder.name.casefold():  # one folder on Windows and macOS
                    folder.replace(self._folder / f".old-{new}")
                self._put(made, new)
            finally:
                shutil.rmtree(made, ignore_errors=True)
        if folder.exists() and folder.name != new and new.casefold() != folder.name.casefold():
            self.remove(folder.name)
        return voice

    def remove(self, name: str) -> Path:
        """Delete a voice with its clip and all that is left of it, damaged or not.

        Returns:
            the folder that is gone.
        Raises:
            SettingsError: there is no such voice, or the disk refuses.
        """
        folder = self._there(name)
        with self._telling(folder.name):
            gone = Path(tempfile.mkdtemp(prefix=f".gone-{folder.name}-", dir=self._folder))
            folder.replace(gone / folder.name)
            shutil.rmtree(gone)
            self._sweep(folder.name)
        return folder

    def xvector_for(self, voice: AddedVoice, model_name: str, width: int, encoder: Encoder | None) -> FloatArray:
        """The voice's x-vector for a model: the one on file, or computed from the clip and then kept.

        Args:
            width: the talker's hidden width.
            encoder: the model's own; None for a model without one (CustomVoice).
        Returns:
            (width,) float32.
        Raises:
            ModelIncompatibleError: the voice was made for other models, and this one cannot learn it.
            ModelCorruptError: a file that is needed is damaged.
        """
        folder = self.folder_of(voice.name)
        there = next((v for v in voice.xvectors if (v.model, v.width) == (model_name[:200], width)), None)
        if there is not None and (encoder is None or encoder.fingerprint == there.fingerprint):
            try:
                return read_vector(folder, there)
            except ModelCorruptError:
                if encoder is None:
                    raise
        if encoder is None or encoder.width != width:
            raise ModelIncompatibleError(
                "The voice {name!r} was made for {there}: {model} (width {width}) cannot learn it. "
                "Choose a Base model, or one of the model's own speakers.",
                name=voice.name,
                there=", ".join(f"{v.model} ({v.width})" for v in voice.xvectors) or "-",
                model=model_name,
                width=width,
            )
        vector = encoder.embed(read_clip(folder, voice))
        with contextlib.suppress(OSError):  # it is computed again next time
            self._keep(folder, _described(model_name, encoder), vector)
        return vector

    def _keep(self, folder: Path, vector: XVector, values: FloatArray) -> None:
        voice = read_record(folder)
        kept = [v for v in voice.xvectors if v.file != vector.file]
        new = folder / f".{vector.file}-{os.getpid()}"
        with new.open("wb") as file:
            np.save(file, values)
        new.replace(folder / vector.file)
        record = folder / f".{RECORD}-{os.getpid()}"
        record.write_text(to_json(voice.model_copy(update={"xvectors": [*kept, vector]})), "utf-8")
        record.replace(folder / RECORD)

    def _there(self, name: str) -> Path:
        name = checked_name(name)
        self._heal(name)
        folder = self._folder / name
        if not folder.is_dir():
            there = [voice.name for voice in BUILT_IN] + [*self._names()]
            raise SettingsError("There is no voice {name!r}: choose {there}.", name=name, there=", ".join(there))
        return folder

    def _names(self) -> tuple[str, ...]:
        try:
            entries = sorted(entry.name for entry in self._folder.iterdir() if entry.is_dir())
        except OSError:
            return ()
        aside = [entry.removeprefix(".old-") for entry in entries if entry.startswith(".old-")]
        return tuple(sorted({entry for entry in entries if not entry.startswith(".")} | set(aside)))

    def check_free(self, name: str, replace: bool = False) -> None:
        """See that a voice of this name can be added.

        Raises:
            SettingsError: the name cannot be used or is taken.
        """
        name = checked_name(name)  # names that differ only in case are one folder on Windows and macOS
        if name.casefold() in _TAKEN:
            raise SettingsError("The name {name!r} is taken by Kazeia itself: choose another.", name=name)
        taken = next((there for there in self._names() if there.casefold() == name.casefold()), None)
        if taken is not None and not (replace and taken == name):
            raise SettingsError("There is a voice {name!r} already: choose another name, or add --replace.", name=taken)

    def _put(self, made: Path, name: str) -> None:
        target, aside = self._folder / name, self._folder / f".old-{name}"
        self._heal(name)
        if target.is_dir():
            shutil.rmtree(aside, ignore_errors=True)
            target.replace(aside)
        try:
            made.replace(target)
        except OSError:
            self._heal(name)
            raise
        self._sweep(name)

    def _heal(self, name: str) -> None:
        """Put back a voice whose replacement was cut short."""
        target, aside = self._folder / name, self._folder / f".old-{name}"
        if aside.is_dir() and not target.exists():
            with contextlib.suppress(OSError):
                aside.replace(target)

    def _sweep(self, name: str) -> None:
        """A clip must not outlive its voice because a process died."""
        shutil.rmtree(self._folder / f".old-{name}", ignore_errors=True)
        for kind in ("new", "gone"):
            for left in self._folder.glob(f".{kind}-{name}-????????"):
                shutil.rmtree(left, ignore_errors=True)

    @contextlib.contextmanager
    def _telling(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SettingsError(
                "The voice {name!r} cannot be changed in {folder} ({reason}): free space or check permissions.",
                name=name,
                folder=str(self._folder),
                reason=error.strerror or str(error),
            ) from error


def checked_name(name: str) -> str:
    """The name as it is kept, composed (NFC).

    Raises:
        SettingsError: it has other characters than letters, digits, - and _, starts with - or _, or is too long.
    """
    composed = unicodedata.normalize("NFC", name)
    kinds = [unicodedata.category(c) for c in composed]
    known = all(kind[0] in "LM" or kind == "Nd" or c in "-_" for c, kind in zip(composed, kinds, strict=True))
    if not 1 <= len(composed) <= LONGEST_NAME or not known or not (kinds[0][0] == "L" or kinds[0] == "Nd"):
        raise SettingsError(
            "{name!r} cannot be a voice's name: take 1 to {longest} letters, digits, - or _, first a letter or digit.",
            name=printable(name)[:80],
            longest=LONGEST_NAME,
        )
    return composed


def own_voice_dirs(paths: Paths) -> Iterator[Path]:
    """Folders below the models' that hold a converted Qwen3-TTS model, by name."""
    with contextlib.suppress(OSError):
        for manifest in sorted(paths.models_dir.glob(f"*/{voice_manifest.FILE}")):
            try:
                record = json.loads(read_bytes(manifest, LARGEST_RECORD))
            except (ModelCorruptError, ValueError, RecursionError):
                continue
            if isinstance(record, dict) and record.get("format") == voice_manifest.FORMAT:
                yield manifest.parent


def own_voice_dir(paths: Paths, settings: Settings) -> Path | None:
    """The converted Qwen3-TTS model that the settings name, or the first that is installed; None: there is none.

    Raises:
        ModelMissingError: the settings name one that is not there.
    """
    there = {folder.name: folder for folder in own_voice_dirs(paths)}
    name = settings.tts.model
    if not name:
        return next(iter(there.values()), None)
    folder = there.get(name) or Path(name).expanduser()
    if not (folder / voice_manifest.FILE).is_file():
        raise ModelMissingError(
            "There is no converted voice model {name!r}: choose {there}, or run `kazeia models convert`.",
            name=name,
            there=", ".join(there) or "-",
        )
    return folder


def _described(model_name: str, encoder: Encoder) -> XVector:
    return XVector(
        model=model_name[:200],
        width=encoder.width,
        fingerprint=encoder.fingerprint,
        file=_vector_file(model_name),
    )


def _vector_file(model_name: str) -> str:
    """Two names that look alike once cleaned get two files."""
    clean = re.sub(r"[^A-Za-z0-9._-]", "-", model_name)[:80]
    mark = "" if clean == model_name else "-" + hashlib.sha256(model_name.encode()).hexdigest()[:8]
    return f"xvector-{clean}{mark}.npy"
