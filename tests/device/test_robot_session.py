"""A person's session with the window, by a robot: real keys and clicks, real models, a real sound server.

Set KAZEIA_ROBOT_PICTURES to keep a picture of each step in that folder, and KAZEIA_ROBOT_FORM to meet the window in
another form (see forms.py).
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
from tests.device.forms import Form, wanted_form
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
SOUP: Final = "Quelle soupe ferais-tu ce soir ?"
BREAD: Final = "Explique en détail comment on fait du pain."
LEMON: Final = "Et un gâteau au citron ?"
SEARCH: Final = "Search the settings"
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
TONES_S: Final = 3 * 1.5
"""Libraries come into memory first."""
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
    form: Form

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
def form() -> Form:
    return wanted_form()


@pytest.fixture
def desk(audio: VirtualAudio, form: Form, tmp_path: Path) -> Iterator[dict[str, str]]:
    """What a program's environment is at this desk."""
    with screen("1400x1200x24") as display:
        yield {
            **audio.environment, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "LANG": form.locale, "LC_ALL": "",
            "LC_MESSAGES": "", "KAZEIA_HOME": str(tmp_path / "maison été"),
        }  # fmt: skip


@pytest.fixture
def own_voice(tmp_path: Path) -> Path:
    """A voice model of random weights, which can learn a voice."""
    return convert(OfficialSource(write_checkpoint(tmp_path / "checkpoint")), tmp_path / "voice", "q8_0").directory


@pytest.fixture
def room(audio: VirtualAudio, desk: dict[str, str], form: Form, pictures: Path, own_voice: Path) -> Iterator[Room]:
    home = Path(desk["KAZEIA_HOME"])
    give_models(home)
    settings = Settings()
    for key, value in (PREPARED | form.settings).items():
        settings = with_value(settings, key, value)
    SettingsStore(home / "config" / "settings.toml").save(settings)
    with ExitStack() as stack:
        loudspeaker = stack.enter_context(ear_at(desk, "spk.monitor"))
        microphone = stack.enter_context(ear_at(desk, "mic_in.monitor"))
        robot = stack.enter_context(robot_at(desk, pictures))
        yield Room(audio, loudspeaker, microphone, desk, home, pictures, robot, form)


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
    robot, tr = room.robot, room.form
    painted = robot.wait("painted", 0, 30.0)
    told(f"first paint {painted['ms']} ms after the program began, {painted['cpu_ms']} ms of computing")
    assert painted["cpu_ms"] < PAINTED_CPU_MS  # of all threads; other programs do not count
    if room.form.size is not None:
        robot.do("size", width=room.form.size[0], height=room.form.size[1])
    now = robot.see()
    assert now.can("Message") and now.widget(tr("Settings")) is not None
    robot.picture("start")
    robot.wait("state_changed", 0, READY_S, state="listening")
    now = robot.until("it says that it listens", lambda now: now.says(tr("Listening")))
    told(f"listens {time.monotonic() - robot.started_s:.1f} s after the program began")
    assert not robot.all("failed")
    robot.picture("ready")


def first_steps(room: Room) -> None:
    """From the menu: by themselves they are shown only where no model is there."""
    robot, tr = room.robot, room.form
    robot.click(tr("More pages"))
    robot.until("the menu is open", lambda now: tr("First steps") in now.menu)
    robot.picture("menu")
    robot.do("menu", name=tr("First steps"))
    robot.until("the first step", lambda now: now.says(tr("Step {n} of {total}", n=1, total=5)))
    robot.picture("first-steps-welcome")
    robot.click(tr("Begin"))
    robot.until(
        "the models are here", lambda now: now.says(tr("Step {n} of {total}", n=2, total=5)) and now.can(tr("Continue"))
    )
    robot.picture("first-steps-models")
    robot.click(tr("Continue"))
    check_microphone(room)
    robot.picture("first-steps-microphone")
    robot.click(tr("Continue"))
    check_loudspeaker(room)
    robot.picture("first-steps-loudspeaker")
    robot.click(tr("I heard it"))
    robot.until(
        "a first exchange is asked for",
        lambda now: (
            now.says(tr("Step {n} of {total}", n=5, total=5)) and now.says(tr("Say “Bonjour”: Kazeia answers."))
        ),
    )
    robot.picture("first-steps-exchange")


def check_microphone(room: Room) -> None:
    robot, tr = room.robot, room.form
    robot.until(
        "the microphone is tried",
        lambda now: (
            now.says(tr("Step {n} of {total}", n=3, total=5))
            and now.says(tr("Say a few words: the bar moves with them."))
        ),
    )
    time.sleep(0.5)
    silent = robot.see().levels
    player = room.audio.play(PERSON)
    try:
        robot.until("it hears", lambda now: now.says(tr("I hear you: the microphone works.")))
        heard = robot.until("the bar moves", lambda now: any(now.levels.values())).levels
    finally:
        player.terminate()
        player.wait(60)
    told(f"the bar stood at {silent or 0} in silence and at {heard} with speech")
    assert not any(silent.values())


def check_loudspeaker(room: Room) -> None:
    robot, tr = room.robot, room.form
    robot.until(
        "the loudspeaker is tried",
        lambda now: now.says(tr("Step {n} of {total}", n=4, total=5)) and now.can(tr("Play a sound")),
    )
    pressed_s = time.monotonic()
    robot.click(tr("Play a sound"))
    robot.until(
        "tones are heard at once", lambda now: bool(room.loudspeaker.loud_s(pressed_s, time.monotonic())), TONES_S
    )
    robot.until(
        "it says that the voice is prepared",
        lambda now: now.says(tr("Did you hear the two tones? The voice is being prepared: a few seconds.")),
    )
    begin_s = time.monotonic()
    robot.until(
        "it asks whether it was heard",
        lambda now: now.says(tr("Did you hear it? If not, raise the volume or choose another loudspeaker.")),
        TURN_S,
    )
    text = understood(room.loudspeaker.between(begin_s, time.monotonic()))
    told(f"the loudspeaker's test was understood as {text!r}")
    errors = word_error_rate(["Bonjour, je suis Kazeia. Voici la voix avec laquelle je vous réponds."], [text])
    assert errors <= 0.35


def speak(room: Room) -> None:
    """The first exchange, which also leads from the last step into the conversation."""
    robot, tr = room.robot, room.form
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
    now = robot.until("the conversation is seen", lambda now: not now.says(tr("Step {n} of {total}", n=5, total=5)))
    assert [m["text"] for m in now.messages] == [said, end["reply"]]
    assert all(m["ended"] == "done" for m in now.messages)
    robot.picture("answered")


def keep_conversations(room: Room) -> None:
    robot, tr = room.robot, room.form
    robot.key("Ctrl+L")
    robot.click(tr("Keep conversations"))
    robot.until("it says that they are kept", lambda now: now.says(tr("Kept, on this machine only.")))
    robot.picture("sidebar-keeps")
    robot.key("Ctrl+L")
    robot.key("Ctrl+N")  # what was said before nobody wanted kept
    robot.until("nothing was said yet", lambda now: not now.messages)


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


def stop_before_it_speaks(room: Room) -> None:
    """The question stays, and says that it was stopped."""
    robot, tr = room.robot, room.form
    mark = room.ask(SOUP)
    robot.key("Esc")
    end = robot.wait("turn_ended", mark, 20.0)
    assert (end["reason"], end["reply"]) == ("interrupted", "")
    robot.until("it is marked", lambda now: now.says(tr("Interrupted")) and fate_of(now, SOUP) == "interrupted")
    robot.picture("stopped-before-it-speaks")


def fate_of(now: Seen, question: str) -> str:
    """How the question, or the answer below it, ended."""
    at = next(i for i, m in enumerate(now.messages) if m["text"] == question)
    last = at + 1 < len(now.messages) and now.messages[at + 1]["who"] == "kazeia"
    return str(now.messages[at + last]["ended"])


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
    """What the user said last, when it is certain."""
    return next((str(m["text"]) for m in reversed(now.messages) if m["who"] == "user" and m["ended"]), "")


def shows_interrupted(room: Room, mark: int, picture: str = "interrupted") -> None:
    robot, tr = room.robot, room.form
    end = robot.wait("turn_ended", mark, 20.0)
    assert end["reason"] == "interrupted"
    robot.until("it is marked", lambda now: any(m["ended"] == "interrupted" for m in now.messages[-3:]))
    robot.until("the mark is seen", lambda now: now.says(tr("Interrupted")))
    robot.picture(picture)


def change_settings(room: Room) -> None:
    """By keyboard alone, while it speaks; in a conversation of its own."""
    robot, tr = room.robot, room.form
    robot.key("Ctrl+N")
    robot.until("nothing was said yet", lambda now: not now.messages)
    mark = room.ask(RECIPE)
    room.speaks(mark)
    robot.key("F1")
    set_by_keyboard(room, ("Débit", "Speed"), 1.3)
    set_by_keyboard(room, ("Température", "Temperature"), 0.4, again=True)
    assert robot.see().state in ("speaking", "thinking"), "it did not speak long enough"
    changed = robot.mark()
    clause = robot.wait("clause_started", changed, TURN_S)
    robot.picture("settings")
    assert room.loudspeaker.loud_s(clause["at"] - 0.2, time.monotonic()), "the next clause is not heard"
    room.hush()
    robot.key("Esc")
    robot.until("the panel is closed", lambda now: not now.can(tr(SEARCH)))
    kept = room.settings()
    assert (kept.tts.speed, kept.llm.temperature) == (1.3, 0.4)
    assert not robot.all("failed")


def set_by_keyboard(room: Room, names: tuple[str, str], number: float, again: bool = False) -> None:
    """Search a setting in the panel, go to it with Tab, write a value."""
    robot, tr = room.robot, room.form
    title, value = tr.of(names), tr.number(number)
    if again:
        robot.do("click", name=tr(SEARCH))
        robot.key("Ctrl+A")
    robot.until("the search has the keyboard", lambda now: now.focus == tr(SEARCH))
    robot.type(title)
    robot.until(f"{title} is found", lambda now: now.can(title))
    robot.tab_to(title)
    robot.key("Ctrl+A")
    robot.type(value)
    robot.key("Return")
    robot.until(f"{title} is {value}", lambda now: now.holds(title, value))


def import_voice(room: Room, own_voice: Path) -> None:
    robot, tr = room.robot, room.form
    robot.click(tr("More pages"))
    robot.until("the menu is open", lambda now: tr("Voices") in now.menu)
    robot.do("menu", name=tr("Voices"))
    robot.until("it says what is missing", lambda now: now.says(tr("Added voices need Kazeia's own voice")))
    robot.picture("voices-without-model")
    robot.key("Esc")
    (room.paths.models_dir / "qwen3-tts").symlink_to(own_voice)
    robot.click(tr("More pages"))
    robot.until("the menu is open", lambda now: tr("Voices") in now.menu)
    robot.do("menu", name=tr("Voices"))
    robot.click(tr("Add a voice"))
    robot.picture("voices-form")
    robot.click(tr("Choose a file…"))
    robot.until("a file is asked for", lambda now: now.focus == "fileNameEdit")
    robot.picture("voices-file")
    robot.type(str(PERSON))
    robot.key("Return")
    robot.until("the recording is judged", lambda now: now.says(tr("Keep this voice")))
    assert not robot.see().can(tr("Keep this voice"))  # who agreed is not told yet
    robot.until(
        "the name is asked for", lambda now: now.focus.startswith(tr("Name of the voice (letters, digits, - and _)"))
    )
    robot.type("June")
    robot.tab_to(tr("Who speaks and agreed to be imitated"))
    robot.type("June Wallack")
    robot.tab_to(tr("How they agreed (in writing, aloud before the recording…)"))
    robot.type("par écrit, pour Asterisk")
    robot.tab_to(tr("This person agrees that Kazeia speaks with their voice"))
    robot.key("Space")
    robot.picture("voices-filled")
    robot.click(tr("Keep this voice"))
    robot.until("the voice is listed", lambda now: now.says("June Wallack") and now.says(tr("Hear the recording")))
    robot.picture("voices-kept")
    voice = VoiceStore.of(room.paths).get("June")
    assert "June Wallack" in voice.consent.text and "par écrit" in voice.consent.text
    begin_s = time.monotonic()
    robot.click(tr("Hear the recording"))
    robot.until("it plays", lambda now: room.loudspeaker.loud_s(begin_s, time.monotonic()))
    robot.key("Esc")
    robot.until("the conversation is seen", lambda now: not now.says(tr("Added voices")))
    robot.until("it listens again", lambda now: now.state == "listening")


def resume(room: Room) -> None:
    robot, tr = room.robot, room.form
    robot.key("Ctrl+N")
    robot.until("nothing was said yet", lambda now: not now.messages)
    robot.key("Ctrl+L")
    robot.until("the list is seen", lambda now: now.can(tr("Search the conversations")))
    robot.picture("sidebar")
    robot.do("choose", text=LONG[:25])
    now = robot.until("the earlier one is shown", lambda now: any(m["text"] == LONG for m in now.messages))
    asked = [m["text"] for m in now.messages if m["who"] == "user"]
    assert asked[:3] == [LONG, SOUP, BREAD] and RECIPE not in asked
    assert [fate_of(now, text) for text in asked[:3]] == ["interrupted"] * 3
    robot.until("the marks are seen", lambda now: now.says(tr("Interrupted")))
    robot.picture("resumed")
    logged = "".join(file.read_text("utf-8") for file in room.paths.log_dir.glob("*.log"))
    assert "its state is taken over" in logged
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
    timed(stop_before_it_speaks, room)
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


def test_where_no_model_is_the_first_steps_come_by_themselves(desk: dict[str, str], form: Form, pictures: Path) -> None:
    tr = form
    with robot_at(desk, pictures / "without-models") as robot:
        robot.wait("painted", 0, 30.0)
        robot.until(
            "the first step",
            lambda now: now.says(tr("Welcome to Kazeia")) and now.says(tr("Step {n} of {total}", n=1, total=5)),
        )
        robot.picture("welcome")
        robot.click(tr("Begin"))
        robot.until(
            "both sets are offered", lambda now: now.says(tr("Starter set")) and now.says(tr("Recommended set"))
        )
        robot.picture("models")
        mark = robot.mark()
        robot.key("Ctrl+Q")
        assert robot.wait("over", mark, 20.0)["threads"] == []
        assert robot.process.wait(timeout=20) == 0
