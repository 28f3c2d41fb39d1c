"""What can speak on this machine, and which voice is used. Runs in jobs: it reads the disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kazeia_desktop.errors import KazeiaError, ModelError
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import Value

if TYPE_CHECKING:
    from kazeia_desktop.formats.voice_manifest import VoiceManifest
    from kazeia_desktop.tts.voice_files import AddedVoice

Kind = Literal["light", "system", "speaker", "chance", "added", "damaged"]
_STYLES = Path(__file__).parent.parent.parent / "assets" / "voices"
_ENGINES: dict[Kind, str] = {
    "light": "kokoro", "system": "system", "speaker": "qwen3", "chance": "qwen3", "added": "qwen3",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class VoiceItem:
    """One voice.

    Attributes:
        kind: light, system; speaker: of a model of Kazeia's own voice; chance: such a model without a speaker;
            added: by a person; damaged: added, and not to be read.
        name: as the setting tts.voice has it.
        model: folder of the own voice's model that it belongs to; "" where it belongs to none.
        ready: it can speak now.
        used: it is the conversation's.
        languages: those it speaks; empty: those of the model.
        added: what is known of an added voice.
        problem: why it is damaged.
    """

    kind: Kind
    name: str
    title: str
    model: str = ""
    ready: bool = True
    used: bool = False
    languages: tuple[str, ...] = ()
    licence: str = ""
    added: "AddedVoice | None" = None
    problem: KazeiaError | None = None

    @property
    def settings(self) -> dict[str, Value]:
        """What is set to speak with it."""
        values: dict[str, Value] = {"tts.engine": _ENGINES[self.kind], "tts.voice": self.name}
        return values | ({"tts.model": self.model} if self.kind in ("speaker", "chance") else {})


@dataclass(frozen=True, slots=True)
class VoiceListing:
    """All voices. learner: name of the model that added voices are made with; "" where there is none."""

    items: tuple[VoiceItem, ...]
    learner: str
    own_models: int


def look_up(paths: Paths, settings: Settings, speaking: str = "") -> VoiceListing:
    """Every voice, in the order in which they are shown.

    Args:
        speaking: what the engine says of its voice; a model that was installed since is not used before a restart,
            whatever "auto" would take then.
    """
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.tts.phonemes import find_espeak
    from kazeia_desktop.tts.system_voice import find_system_voice
    from kazeia_desktop.tts.voices import BUILT_IN, DEFAULT_VOICE

    store = ModelStore(paths.models_dir, Catalog.load())
    own, chosen = _own_models(paths, settings)
    light = next(entry.name for entry in store.catalog.of_kind("voice") if entry.usable)
    engine = engine_for(settings, chosen is not None, store.state(light).present)
    if settings.tts.engine == "auto" and speaking.startswith("Kokoro"):
        engine = "kokoro"
    light_ready = store.state(light).present and find_espeak() is not None
    known = {voice.name: voice for voice in BUILT_IN}
    wanted = settings.tts.voice
    items: list[VoiceItem] = []
    for style in sorted(file.stem for file in _STYLES.glob("*.bin")):
        voice = known.get(style)
        title, used = style.partition("_")[2].capitalize() or style, (wanted or DEFAULT_VOICE) == style
        spoken, licence = (voice.languages, voice.licence) if voice else ((), "")
        items.append(VoiceItem("light", style, title, "", light_ready, used and engine == "kokoro", spoken, licence))
    if find_system_voice() is not None:
        items += [
            VoiceItem("system", voice.name, voice.name, "", True, engine == "system", voice.languages, voice.licence)
            for voice in BUILT_IN
            if voice.engine == "system"
        ]
    for folder, manifest in own:
        here = engine == "qwen3" and folder == chosen
        items += _of_model(folder, manifest, wanted if here else None)
    items += _added(paths, wanted if engine == "qwen3" else None, own, chosen)
    learner = next((found.description.name for _, found in own if found.description.speaker_encoder), "")
    return VoiceListing(tuple(items), learner, len(own))


def engine_for(settings: Settings, own: bool, light: bool) -> str:
    """As `pipeline.builder.voice_engine`, whose imports (every model's runtime) are too dear for a list.

    Args:
        own: a model of Kazeia's own voice can be used. light: the light voice's model is here.
    """
    from kazeia_desktop.tts.voices import engine_of

    if settings.tts.engine != "auto":
        return settings.tts.engine
    of_voice = engine_of(settings.tts.voice)
    if of_voice == "system":
        return of_voice
    if of_voice is None and own:
        return "qwen3"
    return "kokoro" if light else "system"


def _own_models(paths: Paths, settings: Settings) -> "tuple[list[tuple[Path, VoiceManifest]], Path | None]":
    """Every model of the own voice that can be read, and the folder of the one that the settings mean."""
    from kazeia_desktop.formats.voice_manifest import load_manifest
    from kazeia_desktop.tts.voice_store import own_voice_dir, own_voice_dirs

    try:
        chosen = own_voice_dir(paths, settings)
    except ModelError:
        chosen = None
    folders = list(own_voice_dirs(paths))
    if chosen is not None and chosen not in folders:
        folders.append(chosen)
    found: list[tuple[Path, VoiceManifest]] = []
    for folder in folders:
        try:
            found.append((folder, load_manifest(folder)))
        except ModelError:  # the page of models tells of it
            continue
    return found, chosen


def _of_model(folder: Path, manifest: "VoiceManifest", wanted: str | None) -> list[VoiceItem]:
    """The speakers of a model, or the one voice it has without. wanted: tts.voice; None: the model is not used."""
    told = manifest.description
    languages = tuple(told.languages)
    speakers = list(told.speakers)
    if not speakers:
        return [VoiceItem("chance", "", told.name, folder.name, True, wanted == "", languages)]
    used = None if wanted is None else (wanted.lower() or speakers[0])
    return [
        VoiceItem("speaker", speaker, speaker.capitalize(), folder.name, True, speaker == used, languages)
        for speaker in speakers
    ]


def _added(
    paths: Paths, wanted: str | None, own: "list[tuple[Path, VoiceManifest]]", chosen: Path | None
) -> list[VoiceItem]:
    from kazeia_desktop.tts.voice_store import VoiceStore

    voices, problems = VoiceStore.of(paths).list()
    manifest = next((found for folder, found in own if folder == chosen), None)
    items = []
    for voice in voices:
        ready = manifest is not None and (
            manifest.description.speaker_encoder is not None
            or any(vector.model == manifest.description.name for vector in voice.xvectors)
        )
        items.append(VoiceItem("added", voice.name, voice.name, "", ready, voice.name == wanted, added=voice))
    for problem in problems:
        name = str(problem.values.get("name", ""))
        items.append(VoiceItem("damaged", name, name, "", False, False, problem=problem))
    return items
