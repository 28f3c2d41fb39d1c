"""Which model learns a voice from a recording."""

from kazeia_desktop.errors import KazeiaError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.formats.voice_manifest import load_manifest
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.tts.speaker_encoder import SpeakerEncoder
from kazeia_desktop.tts.voice_store import own_voice_dir, own_voice_dirs


def encoder_for(paths: Paths, settings: Settings) -> tuple[SpeakerEncoder, str]:
    """The encoder of the model that speaks, or else of another that has one, and that model's name.

    Raises:
        ModelMissingError: no model of Kazeia's own voice is here.
        ModelError: none of those that are here can learn a voice.
    """
    first = own_voice_dir(paths, settings)
    if first is None:
        raise ModelMissingError(
            "Adding a voice needs Kazeia's own voice model: convert a Qwen3-TTS Base model with "
            "`kazeia models convert SRC {folder}`.",
            folder=str(paths.models_dir / "qwen3-tts"),
        )
    problem: KazeiaError | None = None
    for folder in (first, *(other for other in own_voice_dirs(paths) if other != first)):
        try:
            encoder = SpeakerEncoder.load(folder, settings.tts.threads)
        except ModelIncompatibleError as error:
            problem = problem or error
            continue
        return encoder, load_manifest(folder).description.name
    assert problem is not None
    raise problem
