"""Every setting of Kazeia, declared once.

The panel and `kazeia settings` are generated from these models: each field carries its title and
help in both languages, its unit, its range, and when a change takes effect.
"""

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from kazeia_desktop.settings.base import Apply, Section, Shown, Unfit, shown_of
from kazeia_desktop.settings.window import AppearanceSettings, ShortcutSettings, SystemSettings

__all__ = [
    "SCHEMA_VERSION", "SECTION_TITLES", "AppearanceSettings", "Apply", "AudioSettings", "BackendSettings",
    "LlmSettings", "PrivacySettings", "Section", "Settings", "ShortcutSettings", "Shown", "SttSettings",
    "SystemSettings", "ToolSettings", "TtsSettings", "Unfit", "VadSettings", "section_type", "shown_of",
]  # fmt: skip

SCHEMA_VERSION = 2


# fmt: off
class AudioSettings(Section):
    """Microphone and loudspeaker."""

    input_device: Annotated[str, Shown(
        ("Microphone", "Microphone"),
        ("Vide : celui du système.", "Empty: the system's."), Apply.NOW, choices_from="inputs")] = ""
    output_device: Annotated[str, Shown(
        ("Haut-parleur", "Loudspeaker"),
        ("Vide : celui du système.", "Empty: the system's."), Apply.NOW, choices_from="outputs")] = ""
    volume: Annotated[float, Field(ge=0.0, le=1.5), Shown(
        ("Volume de la voix", "Voice volume"),
        ("1 laisse la voix telle quelle.", "1 leaves the voice as it is."), Apply.NOW)] = 1.0
    duplex: Annotated[Literal["auto", "full", "half"], Shown(
        ("Parler par-dessus la voix", "Speaking over the voice"),
        ("« full » : l'écouter n'empêche pas de l'interrompre en parlant, au casque. « half » : le micro "
         "se ferme pendant qu'elle parle ; Espace ou Arrêter l'interrompt. « auto » choisit selon l'appareil.",
         "“full”: speak over the voice to interrupt it, with a headset. “half”: the microphone is closed while "
         "it speaks; Space or Stop interrupts. “auto” chooses by the device."), Apply.NOW)] = "auto"


class VadSettings(Section):
    """When speech begins and ends."""

    enter_threshold: Annotated[float, Field(ge=0.05, le=0.95), Shown(
        ("Seuil d'entrée", "Enter threshold"),
        ("Probabilité de parole à partir de laquelle Kazeia écoute.",
         "Speech probability from which Kazeia listens."), Apply.NOW)] = 0.5
    leave_threshold: Annotated[float, Field(ge=0.05, le=0.95), Shown(
        ("Seuil de sortie", "Leave threshold"),
        ("Au-dessous, le silence commence.", "Below it, silence begins."), Apply.NOW)] = 0.35
    barge_in_threshold: Annotated[float, Field(ge=0.05, le=0.99), Shown(
        ("Seuil d'interruption", "Barge-in threshold"),
        ("Au-dessus pendant 96 ms, la voix se tait.", "Above it for 96 ms, the voice stops."), Apply.NOW)] = 0.6
    min_speech_ms: Annotated[int, Field(ge=64, le=2000), Shown(
        ("Parole minimale", "Shortest speech"),
        ("Un bruit plus court n'est pas transcrit.", "A shorter noise is not transcribed."), Apply.NOW, "ms")] = 250
    hangover_ms: Annotated[int, Field(ge=200, le=3000), Shown(
        ("Silence qui clôt la phrase", "Silence that ends a turn"),
        ("Plus court répond plus vite, mais coupe les hésitations.",
         "Shorter answers sooner but cuts hesitations."), Apply.NOW, "ms")] = 600
    pre_roll_ms: Annotated[int, Field(ge=0, le=2000), Shown(
        ("Son gardé avant la parole", "Sound kept before speech"),
        ("Pour ne pas perdre le premier mot.", "So that the first word is not lost."), Apply.NOW, "ms")] = 500
    max_turn_s: Annotated[int, Field(ge=5, le=30), Shown(
        ("Durée maximale d'une phrase", "Longest turn"),
        ("Au-delà, Kazeia répond à ce qui a été dit.", "After it, Kazeia answers what was said."),
        Apply.NOW, "s")] = 30


class SttSettings(Section):
    """Recognising speech."""

    model: Annotated[str, Shown(
        ("Modèle", "Model"), ("Modèle Whisper.", "Whisper model."), Apply.RELOAD,
        choices_from="stt_models")] = "whisper-base"
    language: Annotated[Literal["fr", "en", "auto"], Shown(
        ("Langue parlée", "Spoken language"),
        ("« auto » choisit entre français et anglais ; un mot court y est parfois mal reconnu.",
         "“auto” chooses between French and English; a short word is sometimes misjudged."), Apply.NEXT_TURN)] = "fr"
    precision: Annotated[Literal["mixed", "int8", "float32"], Shown(
        ("Précision", "Precision"),
        ("« mixed » est juste et rapide, int8 plus rapide mais moins juste, float32 deux fois plus lent.",
         "“mixed” is exact and fast, int8 faster but less exact, float32 twice as slow."),
        Apply.RELOAD)] = "mixed"
    threads: Annotated[int, Field(ge=1, le=32), Shown(
        ("Threads", "Threads"), ("Cœurs utilisés pour reconnaître.", "Cores used to recognise."),
        Apply.RELOAD)] = 2
    min_mean_logprob: Annotated[float, Field(ge=-5.0, le=0.0), Shown(
        ("Confiance minimale", "Lowest confidence"),
        ("Un texte moins sûr est ignoré.", "A less certain text is dropped."), Apply.NEXT_TURN)] = -1.1


class LlmSettings(Section):
    """The model that answers."""

    model: Annotated[str, Shown(
        ("Modèle", "Model"),
        ("Nom du catalogue ou chemin d'un fichier GGUF.", "Catalogue name or path of a GGUF file."),
        Apply.RELOAD, choices_from="llm_models")] = "qwen2.5-coder-0.5b"
    language: Annotated[Literal["fr", "en"], Shown(
        ("Langue des réponses", "Language of replies"), ("", ""), Apply.NEXT_TURN)] = "fr"
    persona: Annotated[str, Field(max_length=4000), Shown(
        ("Personnalité", "Persona"),
        ("Vide : celle de Kazeia. Sinon, la consigne donnée au modèle.",
         "Empty: Kazeia's own. Otherwise the instruction given to the model."), Apply.NEXT_TURN)] = ""
    n_ctx: Annotated[int, Field(ge=512, le=131072), Shown(
        ("Contexte", "Context"), ("Mémoire de la conversation.", "Memory of the conversation."),
        Apply.RELOAD, "tokens")] = 4096
    when_full: Annotated[Literal["shift", "reread"], Shown(
        ("Contexte plein", "Full context"),
        ("Les plus anciens échanges sont oubliés. Répondre aussitôt (shift) garde ce qui suit tel quel ; tout relire "
         "(reread) est exact, mais plus lent ce tour-là.",
         "The oldest turns are forgotten. Answering at once (shift) keeps what follows as it is; reading everything "
         "again (reread) is exact, but slower that turn."), Apply.NEXT_TURN)] = "shift"
    summarise: Annotated[bool, Shown(
        ("Résumer ce qui est oublié", "Sum up what is forgotten"),
        ("Au repos, le modèle résume les échanges qui ne tiennent plus, et s'en souvient ainsi.",
         "When idle the model sums up the turns that no longer fit, and remembers them so."),
        Apply.NEXT_TURN)] = False
    checkpoint_mb: Annotated[int, Field(ge=0, le=65536), Shown(
        ("Points de reprise", "Checkpoints"),
        ("Mémoire pour revenir en arrière avec les modèles récurrents (Qwen3.5, LFM2, Mamba).",
         "Memory for going back with recurrent models (Qwen3.5, LFM2, Mamba)."), Apply.NOW, "MB")] = 512
    threads: Annotated[int, Field(ge=1, le=32), Shown(
        ("Threads", "Threads"), ("Cœurs utilisés pour répondre.", "Cores used to answer."), Apply.NOW)] = 2
    prefill_threads: Annotated[int, Field(ge=0, le=32), Shown(
        ("Threads pour lire", "Threads to read"),
        ("Cœurs utilisés pour lire la question. 0 : autant que pour répondre.",
         "Cores used to read the question. 0: as many as to answer."), Apply.NOW)] = 0
    max_reply_tokens: Annotated[int, Field(ge=16, le=4096), Shown(
        ("Longueur maximale", "Longest reply"),
        ("220 : une minute de parole. La réponse s'arrête à la fin de phrase qui précède.",
         "220: a minute of speech. The reply stops at the end of the sentence before."),
        Apply.NEXT_TURN, "tokens")] = 220
    thinking: Annotated[bool, Shown(
        ("Réfléchir avant de répondre", "Think before answering"),
        ("Pour les modèles qui le peuvent : plus juste, mais des secondes de silence. Jamais dit à voix haute.",
         "For models that can: better, but seconds of silence. Never spoken."), Apply.NEXT_TURN)] = False
    temperature: Annotated[float, Field(ge=0.0, le=2.0), Shown(
        ("Température", "Temperature"), ("0 : toujours la même réponse.", "0: always the same answer."),
        Apply.NOW)] = 0.3
    top_k: Annotated[int, Field(ge=0, le=1000), Shown(
        ("Top-k", "Top-k"), ("0 : sans limite.", "0: no limit."), Apply.NOW)] = 40
    top_p: Annotated[float, Field(gt=0.0, le=1.0), Shown(
        ("Top-p", "Top-p"), ("1 : sans effet.", "1: no effect."), Apply.NOW)] = 0.9
    min_p: Annotated[float, Field(ge=0.0, le=1.0), Shown(
        ("Min-p", "Min-p"), ("0 : sans effet.", "0: no effect."), Apply.NOW)] = 0.05
    typical_p: Annotated[float, Field(gt=0.0, le=1.0), Shown(
        ("Typical-p", "Typical-p"), ("1 : sans effet.", "1: no effect."), Apply.NOW)] = 1.0
    repeat_penalty: Annotated[float, Field(ge=1.0, le=2.0), Shown(
        ("Pénalité de répétition", "Repeat penalty"), ("1 : sans effet.", "1: no effect."), Apply.NOW)] = 1.1
    frequency_penalty: Annotated[float, Field(ge=-2.0, le=2.0), Shown(
        ("Pénalité de fréquence", "Frequency penalty"),
        ("Pour chaque fois qu'un mot a été dit. 0 : sans effet.", "For each time a word was said. 0: no effect."),
        Apply.NOW)] = 0.0
    presence_penalty: Annotated[float, Field(ge=-2.0, le=2.0), Shown(
        ("Pénalité de présence", "Presence penalty"),
        ("Pour ce qui a déjà été dit, une fois ou dix. 0 : sans effet.",
         "For what was said already, once or ten times. 0: no effect."), Apply.NOW)] = 0.0
    penalty_window: Annotated[int, Field(ge=0, le=4096), Shown(
        ("Portée des pénalités", "Reach of the penalties"),
        ("Ce que les pénalités et DRY regardent de la réponse en cours. 0 : rien.",
         "How much of the reply so far penalties and DRY look at. 0: nothing."), Apply.NOW, "tokens")] = 64
    dry_multiplier: Annotated[float, Field(ge=0.0, le=5.0), Shown(
        ("DRY", "DRY"),
        ("Contre les passages répétés mot pour mot. 0 : sans effet ; 0,8 est usuel.",
         "Against passages repeated word for word. 0: no effect; 0.8 is usual."), Apply.NOW)] = 0.0
    dry_base: Annotated[float, Field(ge=1.0, le=4.0), Shown(
        ("Base de DRY", "DRY base"),
        ("De combien la pénalité croît à chaque token répété.", "How the penalty grows with each repeated token."),
        Apply.NOW)] = 1.75
    dry_allowed_length: Annotated[int, Field(ge=1, le=100), Shown(
        ("Répétition permise par DRY", "Repetition DRY allows"), ("", ""), Apply.NOW, "tokens")] = 2
    seed: Annotated[int, Field(ge=-1, le=2**31 - 1), Shown(
        ("Graine", "Seed"), ("-1 : au hasard à chaque réponse.", "-1: random for each reply."), Apply.NEXT_TURN)] = -1
    kv_type: Annotated[Literal["f16", "q8_0"], Shown(
        ("Cache KV", "KV cache"), ("q8_0 prend moitié moins de mémoire.", "q8_0 takes half the memory."),
        Apply.RELOAD)] = "f16"
    flash_attention: Annotated[bool, Shown(
        ("Flash attention", "Flash attention"), ("", ""), Apply.RELOAD)] = False
    gpu_layers: Annotated[int, Field(ge=-1, le=1000), Shown(
        ("Couches sur l'appareil", "Layers on the device"),
        ("Sans effet sur le processeur. -1 : toutes.", "Without effect on the CPU. -1: all."),
        Apply.RELOAD)] = -1
    batch: Annotated[int, Field(ge=32, le=8192), Shown(
        ("Lot", "Batch"), ("Tokens lus par appel.", "Tokens read in a call."), Apply.RELOAD, "tokens")] = 512
    ubatch: Annotated[int, Field(ge=16, le=4096), Shown(
        ("Lot de calcul", "Compute batch"),
        ("Tokens calculés ensemble. Plus grand lit plus vite sur un accélérateur, mais s'arrête moins vite.",
         "Tokens computed together. A larger one reads faster on an accelerator but stops less quickly."),
        Apply.RELOAD, "tokens")] = 128
    mmap: Annotated[bool, Shown(
        ("Projeter le fichier en mémoire", "Map the file"),
        ("Sinon, le modèle est copié en mémoire : chargé moins vite, jamais relu du disque.",
         "Otherwise the model is copied into memory: slower to load, never read from disk again."),
        Apply.RELOAD)] = True


class TtsSettings(Section):
    """The voice."""

    engine: Annotated[Literal["auto", "qwen3", "kokoro", "system"], Shown(
        ("Moteur", "Engine"),
        ("Automatique prend la meilleure installée : la voix propre de Kazeia, puis la légère (Kokoro), puis celle du "
         "système.",
         "Automatic takes the best installed: Kazeia's own voice, then the light one (Kokoro), then the system's."),
        Apply.RELOAD)] = "auto"
    model: Annotated[str, Shown(
        ("Modèle de la voix propre", "Model of Kazeia's own voice"),
        ("Dossier d'un modèle Qwen3-TTS converti. Vide : le premier installé.",
         "Folder of a converted Qwen3-TTS model. Empty: the first installed."), Apply.RELOAD,
        choices_from="tts_models")] = ""
    voice: Annotated[str, Shown(
        ("Voix", "Voice"), ("Vide : celle du moteur.", "Empty: the engine's own."), Apply.NEXT_CLAUSE,
        choices_from="voices")] = ""
    language: Annotated[Literal["fr", "en"], Shown(
        ("Langue parlée par Kazeia", "Language Kazeia speaks"), ("", ""), Apply.NEXT_CLAUSE)] = "fr"
    speed: Annotated[float, Field(ge=0.5, le=2.0), Shown(
        ("Débit", "Speed"), ("1 : naturel. Sans effet sur la voix propre.", "1: natural. Without effect on Kazeia's "
         "own voice."), Apply.NEXT_CLAUSE)] = 1.0
    threads: Annotated[int, Field(ge=1, le=32), Shown(
        ("Threads", "Threads"), ("Cœurs utilisés par la voix légère.", "Cores used by the light voice."),
        Apply.RELOAD)] = 2
    early_comma: Annotated[bool, Shown(
        ("Commencer à la première virgule", "Start at the first comma"),
        ("La première proposition est dite plus tôt.", "The first clause is spoken sooner."),
        Apply.NEXT_TURN)] = True
    text_mode: Annotated[Literal["whole", "streamed"], Shown(
        ("Texte de la voix propre", "Text of Kazeia's own voice"),
        ("Mot à mot, la voix commence plus tôt ; phrase entière, elle sait dès le début comment finir.",
         "Word by word the voice begins sooner; with the whole clause it knows from the start how to end."),
        Apply.NEXT_CLAUSE)] = "streamed"
    stream_frames: Annotated[int, Field(ge=-1, le=8), Shown(
        ("Trames par morceau", "Frames a piece"),
        ("Trames de 80 ms décodées à la fois. -1 : automatique. 0 : toute la phrase d'un coup.",
         "Frames of 80 ms decoded at a time. -1: automatic. 0: the whole clause at once."), Apply.NEXT_CLAUSE)] = -1
    ramp: Annotated[Literal["auto", "1-2-4", "1-1-2-4", "2-4", "1-2-4-8", "1-4-8", "2-4-8"], Shown(
        ("Premiers morceaux", "First pieces"),
        ("Trames des premiers morceaux : les petits commencent plus tôt, les grands coûtent moins.",
         "Frames of the first pieces: small ones begin sooner, large ones cost less."), Apply.NEXT_CLAUSE)] = "auto"
    talker: Annotated[Literal["native", "llama"], Shown(
        ("Locuteur", "Talker"),
        ("Les noyaux de Kazeia sont plus rapides ; llama.cpp est la référence.",
         "Kazeia's own kernels are faster; llama.cpp is the reference."), Apply.RELOAD)] = "native"
    talker_threads: Annotated[int, Field(ge=0, le=32), Shown(
        ("Threads du locuteur", "Talker threads"),
        ("0 : automatique, mesuré sur cette machine.", "0: automatic, as measured on this machine."),
        Apply.NEXT_CLAUSE)] = 0
    code_predictor_threads: Annotated[int, Field(ge=0, le=32), Shown(
        ("Threads du prédicteur de codes", "Code predictor threads"),
        ("0 : automatique.", "0: automatic."), Apply.NEXT_CLAUSE)] = 0
    codec_threads: Annotated[int, Field(ge=0, le=32), Shown(
        ("Threads du décodeur", "Codec threads"), ("0 : automatique.", "0: automatic."), Apply.RELOAD)] = 0
    seed: Annotated[int, Field(ge=-1, le=2**31 - 1), Shown(
        ("Graine de la voix", "Seed of the voice"),
        ("-1 : au hasard à chaque phrase, sauf sans voix choisie.",
         "-1: random for each clause, except where no voice is chosen."), Apply.NEXT_CLAUSE)] = -1
    talker_temperature: Annotated[float, Field(ge=0.0, le=2.0), Shown(
        ("Température du locuteur", "Talker temperature"),
        ("0 : toujours la même voix, mais surtout du silence.", "0: always the same, but mostly silence."),
        Apply.NEXT_CLAUSE)] = 0.9
    talker_top_k: Annotated[int, Field(ge=0, le=3072), Shown(
        ("Top-k du locuteur", "Talker top-k"), ("0 : sans limite.", "0: no limit."), Apply.NEXT_CLAUSE)] = 50
    talker_top_p: Annotated[float, Field(gt=0.0, le=1.0), Shown(
        ("Top-p du locuteur", "Talker top-p"), ("1 : sans effet.", "1: no effect."), Apply.NEXT_CLAUSE)] = 1.0
    talker_repetition_penalty: Annotated[float, Field(ge=1.0, le=2.0), Shown(
        ("Pénalité de répétition du locuteur", "Talker repetition penalty"), ("1 : sans effet.", "1: no effect."),
        Apply.NEXT_CLAUSE)] = 1.05
    talker_penalty_frames: Annotated[int, Field(ge=0, le=1000), Shown(
        ("Trames pénalisées", "Frames penalised"), ("0 : toutes.", "0: all."), Apply.NEXT_CLAUSE)] = 0
    code_predictor_temperature: Annotated[float, Field(ge=0.0, le=2.0), Shown(
        ("Température du prédicteur", "Code predictor temperature"), ("", ""), Apply.NEXT_CLAUSE)] = 0.9
    code_predictor_top_k: Annotated[int, Field(ge=0, le=2048), Shown(
        ("Top-k du prédicteur", "Code predictor top-k"), ("0 : sans limite.", "0: no limit."),
        Apply.NEXT_CLAUSE)] = 50
    code_predictor_top_p: Annotated[float, Field(gt=0.0, le=1.0), Shown(
        ("Top-p du prédicteur", "Code predictor top-p"), ("1 : sans effet.", "1: no effect."),
        Apply.NEXT_CLAUSE)] = 1.0
    code_predictor_repetition_penalty: Annotated[float, Field(ge=1.0, le=2.0), Shown(
        ("Pénalité de répétition du prédicteur", "Code predictor repetition penalty"),
        ("Sur les codes de la même trame. 1 : sans effet.", "Over the codes of the same frame. 1: no effect."),
        Apply.NEXT_CLAUSE)] = 1.0


class BackendSettings(Section):
    """On which part of the machine the models run."""

    llm_device: Annotated[str, Shown(
        ("Appareil du modèle de langue", "Device of the language model"),
        ("« cpu » : le processeur. « auto » : un appareil qui a réussi le contrôle. Expérimental tant que "
         "`kazeia bench` ne l'a pas mesuré sur cette machine.",
         "“cpu”: the processor. “auto”: a device that passed the check. Experimental until measured on this "
         "machine by `kazeia bench`."), Apply.RELOAD, choices_from="compute_devices")] = "cpu"
    two_contexts: Annotated[Literal["auto", "off", "always"], Shown(
        ("Lire sur l'appareil, répondre sur le processeur", "Read on the device, answer on the CPU"),
        ("« auto » : avec les modèles hybrides, qui y gagnent. Demande de la mémoire pour deux modèles.",
         "“auto”: with hybrid models, which gain by it. Needs memory for two models."), Apply.RELOAD)] = "auto"
    op_offload: Annotated[bool, Shown(
        ("Confier les grands calculs à l'appareil", "Hand large products to the device"),
        ("Aussi ceux des couches qui restent sur le processeur.", "Also those of layers that stay on the CPU."),
        Apply.RELOAD)] = True
    library: Annotated[str, Field(max_length=4000), Shown(
        ("Bibliothèque d'un autre backend", "Library of another backend"),
        ("Chemin d'un fichier de ggml (libggml-*.so). Un changement demande de redémarrer Kazeia.",
         "Path of a file of ggml (libggml-*.so). A change needs a restart of Kazeia."), Apply.RELOAD)] = ""
    flags: Annotated[str, Field(max_length=4000), Shown(
        ("Options des backends", "Backend flags"),
        ("NOM=valeur, une par ligne, par exemple GGML_VK_VISIBLE_DEVICES=0. Un changement demande de redémarrer "
         "Kazeia.",
         "NAME=value, one a line, for example GGML_VK_VISIBLE_DEVICES=0. A change needs a restart of Kazeia."),
        Apply.RELOAD)] = ""

    @field_validator("flags")
    @classmethod
    def _flags_have_names(cls, flags: str) -> str:
        for line in filter(None, map(str.strip, re.split(r"[\n;]", flags))):
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*\s*=.*", line) or "\0" in line:
                raise ValueError(f"NAME=value is expected, not {line!r}")
        return flags


class PrivacySettings(Section):
    """What is kept."""

    keep_conversations: Annotated[bool, Shown(
        ("Garder les conversations", "Keep conversations"),
        ("Sur cette machine seulement.", "On this machine only."), Apply.NEXT_TURN)] = False
    saved_states_mb: Annotated[int, Field(ge=0, le=100_000), Shown(
        ("Place pour reprendre aussitôt", "Room for resuming at once"),
        ("Garde ce que le modèle a lu des conversations gardées ; les plus anciennes partent d'abord. 0 : rien.",
         "Keeps what the model has read of kept conversations; the oldest go first. 0: nothing."),
        Apply.NEXT_TURN, "MB")] = 500
    use_facts: Annotated[bool, Shown(
        ("Lire la note sur vous", "Read the note about you"),
        ("Le fichier facts.md du dossier de configuration : ce que Kazeia doit toujours savoir.",
         "The file facts.md in the configuration folder: what Kazeia should always know."),
        Apply.NEXT_TURN)] = True


class ToolSettings(Section):
    """What Kazeia can do besides talking, without a network."""

    clock: Annotated[bool, Shown(
        ("Heure et date", "Time and date"), ("", ""), Apply.NEXT_TURN)] = True
    timers: Annotated[bool, Shown(
        ("Minuteurs et alarmes", "Timers and alarms"),
        ("Dits à voix haute à leur heure. Les alarmes survivent à un redémarrage.",
         "Spoken when they are due. Alarms survive a restart."), Apply.NEXT_TURN)] = True
    calculator: Annotated[bool, Shown(
        ("Calculatrice", "Calculator"), ("", ""), Apply.NEXT_TURN)] = True
    units: Annotated[bool, Shown(
        ("Conversions d'unités", "Unit conversion"), ("", ""), Apply.NEXT_TURN)] = True
    volume: Annotated[bool, Shown(
        ("Volume à la voix", "Volume by voice"),
        ("« Parle plus fort » change le volume de la voix.", "“Speak louder” changes the voice's volume."),
        Apply.NEXT_TURN)] = True
    translator: Annotated[bool, Shown(
        ("Traductions", "Translations"),
        ("« Comment dit-on bonne nuit en anglais ? » : le modèle traduit, à part de la conversation.",
         "“How do you say good night in French?”: the model translates, beside the conversation."),
        Apply.NEXT_TURN)] = True
    limits: Annotated[bool, Shown(
        ("Dire ce qui est impossible", "Say what cannot be done"),
        ("Météo, nouvelles, appels, messages, appareils : rien ne sort de cet ordinateur. Et pas d'aide pour nuire.",
         "Weather, news, calls, messages, devices: nothing leaves this computer. And no help to do harm."),
        Apply.NEXT_TURN)] = True
    ask_model: Annotated[bool, Shown(
        ("Demander au modèle en cas de doute", "Ask the model when unsure"),
        ("Pour les problèmes en mots ; coûte une à deux secondes à ces phrases-là seulement.",
         "For problems in words; costs one or two seconds for those sentences only."), Apply.NEXT_TURN)] = True


class Settings(Section):
    """The whole tree."""

    audio: AudioSettings = AudioSettings()
    vad: VadSettings = VadSettings()
    stt: SttSettings = SttSettings()
    llm: LlmSettings = LlmSettings()
    tts: TtsSettings = TtsSettings()
    backends: BackendSettings = BackendSettings()
    appearance: AppearanceSettings = AppearanceSettings()
    privacy: PrivacySettings = PrivacySettings()
    tools: ToolSettings = ToolSettings()
    system: SystemSettings = SystemSettings()
    shortcuts: ShortcutSettings = ShortcutSettings()


SECTION_TITLES: dict[str, tuple[str, str]] = {
    "audio": ("Son", "Sound"),
    "vad": ("Écoute", "Listening"),
    "stt": ("Reconnaissance", "Recognition"),
    "llm": ("Réponses", "Replies"),
    "tts": ("Voix", "Voice"),
    "backends": ("Matériel", "Hardware"),
    "appearance": ("Apparence", "Appearance"),
    "privacy": ("Vie privée", "Privacy"),
    "tools": ("Outils", "Tools"),
    "system": ("Système", "System"),
    "shortcuts": ("Raccourcis", "Shortcuts"),
}
"""(French, English) title of each section, in the panel's order."""


def section_type(name: str) -> type[Section]:
    """The model class of a section by its name; KeyError when there is none."""
    kind = Settings.model_fields[name].annotation
    if not isinstance(kind, type) or not issubclass(kind, Section):
        raise TypeError(f"{name} is not a section")
    return kind
