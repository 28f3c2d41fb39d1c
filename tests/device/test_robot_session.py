"""A person's session with the window, by a robot: real keys and clicks, real models, a real sound server.

Set KAZEIA_ROBOT_PICTURES to keep a picture of each step in that folder.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from kazeia_desktop.audio.wav import read_wav, write_wav
from kazeia_desktop.cli.word_errors import word_error_rate
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.memory.conversations import ConversationStore
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings, SttSettings
from kazeia_desktop.settings.store import SettingsStore, Value, with_value
from kazeia_desktop.stt.whisper import WhisperRecognizer
from kazeia_desktop.tts.voice_store import VoiceStore
from tests.device.ear import LOUD, Ear, ear_at
from tests.device.robot import Robot, Seen, robot_at
from tests.device.test_talk import screen
from tests.device.virtual_audio import VirtualAudio
from tests.fakes.micro_voice import write_checkpoint
from tests.realmodels import require_model

pytestmark = [pytest.mark.device, pytest.mark.timeout(600)]

SOUNDS: Final = Path("/usr/share/asterisk/sounds/fr_CA_f_June")
QUESTION: Final = SOUNDS / "conf-onlyone.wav"
ASKED: Final = "Il n'y a qu'un seul participant dans cette conférence."
OVER: Final = SOUNDS / "vm-savefolder.wav"
PERSON: Final = SOUNDS / "vm-intro.wav"
LONG: Final = "Raconte en détail comment on prépare un gâteau au chocolat."
RECIPE: Final = "Donne la recette de la soupe à l'oignon, étape par étape."
BREAD: Final = "Explique en détail comment on fait du pain."
LEMON: Final = "Et un gâteau au citron ?"
SEARCH: Final = "Chercher un réglage"
MODELS: Final = ("whisper-base", "silero-vad", "qwen2.5-coder-0.5b", "kokoro-82m")
PREPARED: Final[dict[str, Value]] = {
    "audio.duplex": "full",  # as with a headset: the virtual loudspeaker is not heard by the microphone
    "llm.temperature": 0.0,
    "llm.threads": 1,
    "tts.engine": "kokoro",  # also when a voice model of random weights is there
}
PAINTED_CPU_MS: Final = 1500
READY_S: Final = 180.0
TURN_S: Final = 120.0
SILENT_S: Final = 0.5
CLOSED_S: Final = 3 * 2.0


@dataclass
class Room:
    """A person's desk: the sound server, a display, the ears, and the home of one Kazeia."""

    audio: VirtualAudio
    loudspeaker: Ear
    microphone: Ear
    environment: dict[str, str]
    home: Path
    pictures: Path
    robot: Robot

    @property
    def paths(self) -> Paths:
        return Paths(self.home / "config", self.home / "data", self.home / "cache", self.home / "logs")

    def settings(self) -> Settings:
        """As stored."""
        return SettingsStore(self.paths.settings_file).load()

    def ask(self, text: str) -> int:
        """Write to Kazeia; returns the mark before."""
        robot = self.robot
        mark = robot.mark()
        robot.do("click", name="Message")
        robot.type(text)
        robot.key("Return")
        return mark

    def speaks(self, mark: int) -> float:
        """Wait until it is heard. Returns since when."""
        began_s = self.robot.wait("state_changed", mark, TURN_S, state="speaking")["at"]
        deadline = time.monotonic() + 60
        while not (heard := self.loudspeaker.loud_s(began_s - 0.5, time.monotonic())):
            assert time.monotonic() < deadline, "it says that it speaks, and nothing is heard"
            time.sleep(0.02)
        return heard[0]

    def silent_after(self, since_s: float, watch_s: float = 1.5) -> float:
        """How long something was still heard after a moment at which it spoke."""
        time.sleep(max(0.0, since_s + watch_s - time.monotonic()))
        assert self.loudspeaker.loud_s(since_s - 1.0, since_s + 0.05), "it was not speaking any more"
        return max(self.loudspeaker.loud_s(since_s - 1.0, since_s + watch_s)) - since_s

    def hush(self) -> None:
        """Stop it, and wait until it listens again."""
        self.robot.key("Esc")
        self.robot.until("it listens again", lambda now: now.state == "listening", TURN_S)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    wanted = os.environ.get("KAZEIA_ROBOT_PICTURES")
    return Path(wanted) if wanted else tmp_path / "pictures"


@pytest.fixture
def desk(audio: VirtualAudio, tmp_path: Path) -> Iterator[dict[str, str]]:
    """What a program's environment is at this desk; the interface is in French."""
    with screen() as display:
        yield {
            **audio.environment, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "LANG": "fr_FR.UTF-8", "LC_ALL": "",
            "LC_MESSAGES": "", "KAZEIA_HOME": str(tmp_path / "maison été"),
        }  # fmt: skip


@pytest.fixture
def own_voice(tmp_path: Path) -> Path:
    """A voice model of random weights, which can learn a voice."""
    return convert(OfficialSource(write_checkpoint(tmp_path / "checkpoint")), tmp_path / "voice", "q8_0").directory


@pytest.fixture
def room(audio: VirtualAudio, desk: dict[str, str], pictures: Path, own_voice: Path) -> Iterator[Room]:
    home = Path(desk["KAZEIA_HOME"])
    give_models(home)
    settings = Settings()
    for key, value in PREPARED.items():
        settings = with_value(settings, key, value)
    SettingsStore(home / "config" / "settings.toml").save(settings)
    with ExitStack() as stack:
        loudspeaker = stack.enter_context(ear_at(desk, "spk.monitor"))
        microphone = stack.enter_context(ear_at(desk, "mic_in.monitor"))
        robot = stack.enter_context(robot_at(desk, pictures))
        yield Room(audio, loudspeaker, microphone, desk, home, pictures, robot)


def give_models(home: Path) -> None:
    """The real models, in a folder of the test's own to which others can be added."""
    folder = home / "data" / "models"
    folder.mkdir(parents=True)
    for name in MODELS:
        (folder / name).symlink_to(require_model(name))


def told(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def understood(sound: FloatArray) -> str:
    """What Whisper hears, of (n,) float32 at 16 kHz."""
    recognizer = WhisperRecognizer(require_model("whisper-base"), SttSettings())
    try:
        return recognizer.transcribe(sound, 0, CancelToken()).text
    finally:
        recognizer.close()


def from_first_word(wav: Path, into: Path) -> Path:
    """The recording without its silence at the beginning."""
    samples, rate_hz = read_wav(wav)
    write_wav(into, samples[int(np.flatnonzero(np.abs(samples) > LOUD)[0]) :], rate_hz)
    return into


# The session, step by step


def start(room: Room) -> None:
    robot = room.robot
    painted = robot.wait("painted", 0, 30.0)
    told(f"first paint {painted['ms']} ms after the program began, {painted['cpu_ms']} ms of computing")
    assert painted["cpu_ms"] < PAINTED_CPU_MS  # of all threads; other programs do not count
    now = robot.see()
    assert now.can("Message") and now.widget("Réglages") is not None
    robot.picture("start")
    robot.wait("state_changed", 0, READY_S, state="listening")
    now = robot.until("it says that it listens", lambda now: now.says("À l'écoute"))
    told(f"listens {time.monotonic() - robot.started_s:.1f} s after the program began")
    assert not robot.all("failed")
    robot.picture("ready")


def first_steps(room: Room) -> None:
    """From the menu: by themselves they are shown only where no model is there."""
    robot = room.robot
    robot.click("Autres pages")
    robot.until("the menu is open", lambda now: "Premiers pas" in now.menu)
    robot.picture("menu")
    robot.do("menu", name="Premiers pas")
    robot.until("the first step", lambda now: now.says("Étape 1 sur 5"))
    robot.picture("first-steps-welcome")
    robot.click("Commencer")
    robot.until("the models are here", lambda now: now.says("Étape 2 sur 5") and now.can("Continuer"))
    robot.picture("first-steps-models")
    robot.click("Continuer")
    check_microphone(room)
    robot.picture("first-steps-microphone")
    robot.click("Continuer")
    check_loudspeaker(room)
    robot.picture("first-steps-loudspeaker")
    robot.click("Je l'ai entendu")
    robot.until("a first exchange is asked for", lambda now: now.says("Étape 5 sur 5") and now.says("Dites «"))
    robot.picture("first-steps-exchange")


def check_microphone(room: Room) -> None:
    robot = room.robot
    robot.until("the microphone is tried", lambda now: now.says("Étape 3 sur 5") and now.says("Dites quelques mots"))
    time.sleep(0.5)
    silent = robot.see().levels
    player = room.audio.play(PERSON)
    try:
        robot.until("it hears", lambda now: now.says("Je vous entends"))
        heard = robot.until("the bar moves", lambda now: any(now.levels.values())).levels
    finally:
        player.terminate()
        player.wait(60)
    told(f"the bar stood at {silent or 0} in silence and at {heard} with speech")
    assert not any(silent.values())


def check_loudspeaker(room: Room) -> None:
    robot = room.robot
    robot.until("the loudspeaker is tried", lambda now: now.says("Étape 4 sur 5") and now.can("Jouer un son"))
    begin_s = time.monotonic()
    robot.click("Jouer un son")
    robot.until("it asks whether it was heard", lambda now: now.says("L'avez-vous entendu"), TURN_S)
    text = understood(room.loudspeaker.between(begin_s, time.monotonic()))
    told(f"the loudspeaker's test was understood as {text!r}")
    errors = word_error_rate(["Bonjour, je suis Kazeia. Voici la voix avec laquelle je vous réponds."], [text])
    assert errors <= 0.35


def speak(room: Room) -> None:
    """The first exchange, which also leads from the last step into the conversation."""
    robot = room.robot
    mark, begin_s = robot.mark(), time.monotonic()
    room.audio.play(QUESTION).wait(timeout=20)
    said = robot.wait("user_text", mark, TURN_S)["text"]
    assert word_error_rate([ASKED], [said]) <= 0.2, said
    room.speaks(mark)
    robot.picture("speaks")
    end = robot.wait("turn_ended", mark, TURN_S)
    assert end["reason"] == "done"
    time.sleep(0.5)
    text = understood(room.loudspeaker.between(begin_s, time.monotonic()))
    errors = word_error_rate([end["reply"]], [text])
    told(f"it said {end['reply']!r}, heard as {text!r}: {100 * errors:.0f} %; {end['metrics']}")
    assert errors <= 0.25
    now = robot.until("the conversation is seen", lambda now: not now.says("Étape 5 sur 5"))
    assert [m["text"] for m in now.messages] == [said, end["reply"]]
    assert all(m["ended"] == "done" for m in now.messages)
    robot.picture("answered")


def keep_conversations(room: Room) -> None:
    robot = room.robot
    robot.key("Ctrl+L")
    robot.click("Garder les conversations")
    robot.until("it says that they are kept", lambda now: now.says("Gardées, sur cette machine seulement."))
    robot.picture("sidebar-keeps")
    robot.key("Ctrl+L")


def interrupt_by_space(room: Room) -> None:
    robot = room.robot
    mark = room.ask(LONG)
    room.speaks(mark)
    time.sleep(0.8)
    robot.picture("speaks-long")
    pressed_s = time.monotonic()
    robot.key("Space")
    after_s = room.silent_after(pressed_s)
    told(f"silent {1000 * after_s:.0f} ms after Space")
    assert after_s < SILENT_S
    shows_interrupted(room, mark)


def interrupt_by_speaking(room: Room, tmp_path: Path) -> None:
    robot = room.robot
    mark = room.ask(BREAD)
    room.speaks(mark)
    time.sleep(0.8)
    over_s = time.monotonic()
    player = room.audio.play(from_first_word(OVER, tmp_path / "over.wav"))
    shows_interrupted(room, mark, "interrupted-by-speaking")
    player.wait(60)
    first_s = room.microphone.loud_s(over_s, time.monotonic())[0]
    after_s = room.silent_after(first_s, 1.0)
    told(f"silent {1000 * after_s:.0f} ms after the first sample of speech")
    assert after_s < 3 * 0.3
    now = robot.until("what was said over it is answered too", lambda now: said_last(now) not in ("", BREAD), TURN_S)
    error = word_error_rate(["Dans quel dossier souhaitez-vous conserver ce message ?"], [said_last(now)])
    assert error <= 0.3, said_last(now)
    room.hush()


def said_last(now: Seen) -> str:
    """What the user said last."""
    return next((str(m["text"]) for m in reversed(now.messages) if m["who"] == "user"), "")


def shows_interrupted(room: Room, mark: int, picture: str = "interrupted") -> None:
    robot = room.robot
    end = robot.wait("turn_ended", mark, 20.0)
    assert end["reason"] == "interrupted"
    robot.until("it is marked", lambda now: any(m["ended"] == "interrupted" for m in now.messages[-3:]))
    robot.until("the mark is seen", lambda now: now.says("Interrompu"))
    robot.picture(picture)


def change_settings(room: Room) -> None:
    """By keyboard alone, while it speaks; in a conversation of its own."""
    robot = room.robot
    robot.key("Ctrl+N")
    robot.until("nothing was said yet", lambda now: not now.messages)
    mark = room.ask(RECIPE)
    room.speaks(mark)
    robot.key("F1")
    set_by_keyboard(robot, "Débit", "1,3")
    set_by_keyboard(robot, "Température", "0,4", again=True)
    assert robot.see().state in ("speaking", "thinking"), "it did not speak long enough"
    changed = robot.mark()
    clause = robot.wait("clause_started", changed, TURN_S)
    robot.picture("settings")
    assert room.loudspeaker.loud_s(clause["at"] - 0.2, time.monotonic()), "the next clause is not heard"
    room.hush()
    robot.key("Esc")
    robot.until("the panel is closed", lambda now: not now.can(SEARCH))
    kept = room.settings()
    assert (kept.tts.speed, kept.llm.temperature) == (1.3, 0.4)
    assert not robot.all("failed")


def set_by_keyboard(robot: Robot, title: str, value: str, again: bool = False) -> None:
    """Search a setting in the panel, go to it with Tab, write a value."""
    if again:
        robot.do("click", name=SEARCH)
        robot.key("Ctrl+A")
    robot.until("the search has the keyboard", lambda now: now.focus == SEARCH)
    robot.type(title)
    robot.until(f"{title} is found", lambda now: now.can(title))
    robot.tab_to(title)
    robot.key("Ctrl+A")
    robot.type(value)
    robot.key("Return")
    robot.until(f"{title} is {value}", lambda now: now.holds(title, value))


def import_voice(room: Room, own_voice: Path) -> None:
    robot = room.robot
    robot.click("Autres pages")
    robot.until("the menu is open", lambda now: "Voix" in now.menu)
    robot.do("menu", name="Voix")
    robot.until("it says what is missing", lambda now: now.says("Les voix ajoutées ont besoin de la voix propre"))
    robot.picture("voices-without-model")
    robot.key("Esc")
    (room.paths.models_dir / "qwen3-tts").symlink_to(own_voice)
    robot.click("Autres pages")
    robot.until("the menu is open", lambda now: "Voix" in now.menu)
    robot.do("menu", name="Voix")
    robot.click("Ajouter une voix")
    robot.picture("voices-form")
    robot.click("Choisir un fichier…")
    robot.until("a file is asked for", lambda now: now.focus == "fileNameEdit")
    robot.picture("voices-file")
    robot.type(str(PERSON))
    robot.key("Return")
    robot.until("the recording is judged", lambda now: now.says("Garder cette voix"))
    assert not robot.see().can("Garder cette voix")  # who agreed is not told yet
    robot.until("the name is asked for", lambda now: now.focus.startswith("Nom de la voix"))
    robot.type("June")
    robot.tab_to("Qui parle")
    robot.type("June Wallack")
    robot.tab_to("Comment elle a accepté")
    robot.type("par écrit, pour Asterisk")
    robot.tab_to("Cette personne accepte")
    robot.key("Space")
    robot.picture("voices-filled")
    robot.click("Garder cette voix")
    robot.until("the voice is listed", lambda now: now.says("June Wallack") and now.says("Écouter l'enregistrement"))
    robot.picture("voices-kept")
    voice = VoiceStore.of(room.paths).get("June")
    assert "June Wallack" in voice.consent.text and "par écrit" in voice.consent.text
    begin_s = time.monotonic()
    robot.click("Écouter l'enregistrement")
    robot.until("it plays", lambda now: room.loudspeaker.loud_s(begin_s, time.monotonic()))
    robot.key("Esc")
    robot.until("the conversation is seen", lambda now: not now.says("Voix ajoutées"))
    robot.until("it listens again", lambda now: now.state == "listening")


def resume(room: Room) -> None:
    robot = room.robot
    robot.key("Ctrl+N")
    robot.until("nothing was said yet", lambda now: not now.messages)
    robot.key("Ctrl+L")
    robot.until("the list is seen", lambda now: now.can("Chercher dans les conversations"))
    robot.picture("sidebar")
    robot.do("choose", text=LONG[:25])
    now = robot.until("the earlier one is shown", lambda now: any(m["text"] == LONG for m in now.messages))
    asked = [m["text"] for m in now.messages if m["who"] == "user"]
    assert asked[:2] == [LONG, BREAD] and RECIPE not in asked
    robot.picture("resumed")
    mark = room.ask(LEMON)
    room.speaks(mark)
    robot.picture("follow-up")
    room.hush()
    assert said_last(robot.see()) == LEMON


def leave(room: Room) -> None:
    robot = room.robot
    mark, pressed_s = robot.mark(), time.monotonic()
    robot.key("Ctrl+Q")
    over = robot.wait("over", mark, 30.0)
    code = robot.process.wait(timeout=30)
    took_s = time.monotonic() - pressed_s
    told(f"closed in {over['at'] - pressed_s:.1f} s, ended in {took_s:.1f} s")
    assert code == 0 and over["code"] == 0
    assert over["threads"] == []
    assert took_s < CLOSED_S
    assert room.settings().tts.speed == 1.3
    store = ConversationStore(room.paths.conversations_file)
    try:
        kept = {one.title: [said.text for said in store.messages(one.id)] for one in store.summaries()}
    finally:
        store.close()
    assert len(kept) == 2
    first = next(said for said in kept.values() if LONG in said)
    assert BREAD in first and LEMON in first and RECIPE not in first


def test_a_session_from_first_start_to_quitting(room: Room, own_voice: Path, tmp_path: Path) -> None:
    timed(start, room)
    timed(first_steps, room)
    timed(speak, room)
    timed(keep_conversations, room)
    timed(interrupt_by_space, room)
    timed(interrupt_by_speaking, room, tmp_path)
    timed(change_settings, room)
    timed(import_voice, room, own_voice)
    timed(resume, room)
    timed(leave, room)


def timed(step: Callable[..., None], room: Room, *words: object) -> None:
    begin_s, room.robot.longest_ms = time.monotonic(), 0
    step(room, *words)
    took_s = time.monotonic() - begin_s
    told(f"{step.__name__}: {took_s:.1f} s; the event loop was away {room.robot.longest_ms} ms at most")


def test_where_no_model_is_the_first_steps_come_by_themselves(desk: dict[str, str], pictures: Path) -> None:
    with robot_at(desk, pictures / "without-models") as robot:
        robot.wait("painted", 0, 30.0)
        robot.until("the first step", lambda now: now.says("Bienvenue dans Kazeia") and now.says("Étape 1 sur 5"))
        robot.picture("welcome")
        robot.click("Commencer")
        robot.until("both sets are offered", lambda now: now.says("Jeu de départ") and now.says("Jeu conseillé"))
        robot.picture("models")
        mark = robot.mark()
        robot.key("Ctrl+Q")
        assert robot.wait("over", mark, 20.0)["threads"] == []
        assert robot.process.wait(timeout=20) == 0
