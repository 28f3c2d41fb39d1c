"""Pictures of the real window for README and docs, driven by the tests' fake engine.

    xvfb-run -a -s "-screen 0 2600x2400x24" .venv/bin/python tools/screenshots.py [OUT_DIR]

Each picture is taken in a process of its own, because scale and theme are chosen at start.
"""

import argparse
import atexit
import itertools
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
BUDGET_BYTES = 7_000_000

QUESTION = "Bonjour Kazeia. Quel temps faut-il prévoir pour une promenade en Bretagne ce week-end ?"
ANSWER = (
    "Bonjour ! Je ne peux pas consulter la météo, car rien ne sort de cette machine. "
    "En automne, prenez un coupe-vent et des chaussures qui ne craignent pas l'eau. "
    "Voulez-vous que je vous aide à préparer votre sac ?"
)
CLAUSES = (
    "Bonjour !",
    "Je ne peux pas consulter la météo, car rien ne sort de cette machine.",
)
QUESTION_EN = "Hello Kazeia. What should I take for a walk by the sea this weekend?"
ANSWER_EN = (
    "Hello! I cannot look up the weather, because nothing leaves this machine. "
    "In autumn, take a windproof jacket and shoes that do not mind water."
)


@dataclass(frozen=True)
class Shot:
    """One picture: what the window shows, in which theme, language, size and scale."""

    scene: str
    theme: str = "light"
    language: str = "fr"
    width: int = 1080
    height: int = 760
    scale: int = 1

    @property
    def name(self) -> str:
        size = "" if (self.width, self.height) == (1080, 760) else f"-{self.width}x{self.height}"
        return f"{self.scene}-{self.theme}-{self.language}{size}{'' if self.scale == 1 else f'-{self.scale}x'}"


SHOTS = (
    *(Shot(scene, theme) for scene in ("idle", "listening", "speaking", "error") for theme in ("light", "dark")),
    Shot("speaking", "light", "en"),
    Shot("error", "dark", "en"),
    Shot("loading"),
    Shot("hearing"),
    Shot("thinking", "dark"),
    Shot("muted"),
    Shot("interrupted"),
    Shot("missing", "light"),
    Shot("settings", "light", width=1280),
    Shot("settings", "dark", "en", width=1280),
    Shot("speaking", "light", scale=2),
    Shot("speaking", "light", width=800, height=1100),
    Shot("compare", "light", width=1280, height=1400),
    Shot("compare", "dark", "en", width=1280, height=800),
    Shot("compare", "light", width=800, height=1100),
    Shot("presets", "light", width=1280),
    Shot("presets", "dark", "en", width=1280),
    Shot("presets", "dark", width=800, height=1100),
    Shot("settings", "dark", width=800, height=1100),
    Shot("shortcuts", "light", width=1280),
    Shot("shortcuts", "dark", "en", width=800, height=1100),
    Shot("activity", "light", width=1280, height=800),
    Shot("activity", "dark", "en", width=1280, height=800),
    Shot("activity", "light", width=800, height=1100),
    Shot("activity", "light", scale=2),
    Shot("log", "dark", width=1280, height=800),
    Shot("log", "light", "en", width=800, height=1100),
    Shot("messages", "light", width=1280, height=800),
    Shot("messages", "dark", "en", width=1280, height=800),
    Shot("messages", "light", width=800, height=1100),
    Shot("find", "dark", width=1280, height=800),
    Shot("find", "light", "en", width=800, height=1100),
    Shot("edit", "light", width=1280, height=800),
    Shot("conversations", "light", width=1280, height=800),
    Shot("conversations", "dark", "en", width=1280, height=800),
    Shot("conversations", "light", width=800, height=1100),
    Shot("conversations", "contrast", width=1280, height=800),
    Shot("conversations", "light", width=1280, height=800, scale=2),
    Shot("search", "dark", width=1280, height=800),
    Shot("delete", "light", "en", width=1280, height=800),
    Shot("delete_all", "dark", width=1280, height=800),
    Shot("private", "light", width=1280, height=800),
    Shot("facts", "dark", width=1280, height=800),
    Shot("continue", "light", width=1280, height=800),
    Shot("voices", "light", width=1280, height=800),
    Shot("voices", "dark", "en", width=800, height=1100),
    Shot("voice_add", "light", width=1280, height=800),
    Shot("voice_add", "dark", "en", width=800, height=1100),
    Shot("models", "light", width=1280, height=800),
    Shot("models", "dark", "en", width=800, height=1100),
    Shot("models_smaller", "light", width=1280, height=800),
    Shot("first_run_welcome", "light", width=1280, height=800),
    Shot("first_run_models", "light", width=1280, height=800),
    Shot("first_run_models", "dark", "en", width=800, height=1100),
    Shot("first_run_microphone", "light", width=1280, height=800, scale=2),
    Shot("first_run_loudspeaker", "dark", "en", width=800, height=1100),
    Shot("first_run_preparing", "light", width=1280, height=800),
    Shot("first_run_words", "light", width=1280, height=800),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "docs" / "screenshots")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument(
        "--walk", nargs="+", metavar="SCENE",
        help="these scenes in every theme, language and size, to look at and not to keep",
    )  # fmt: skip
    parser.add_argument("--themes", default="light,dark", help="of --walk; also contrast")
    parser.add_argument("--languages", default="fr,en", help="of --walk")
    parser.add_argument("--sizes", default="1280x800,800x1100", help="of --walk")
    parser.add_argument("--scales", default="1", help="of --walk")
    parser.add_argument("--shot", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.shot is not None:
        scene, theme, language, width, height, scale = options.shot.split(":")
        return take(Shot(scene, theme, language, int(width), int(height), int(scale)), options.out)
    options.out.mkdir(parents=True, exist_ok=True)
    for shot in _walk(options) if options.walk else SHOTS:
        if options.only in shot.name:
            environment = {**os.environ, "QT_SCALE_FACTOR": str(shot.scale)}
            told = f"{shot.scene}:{shot.theme}:{shot.language}:{shot.width}:{shot.height}:{shot.scale}"
            command = [sys.executable, __file__, str(options.out), "--shot", told]
            subprocess.run(command, env=environment, check=True)
    total = sum(file.stat().st_size for file in options.out.glob("*.png"))
    sys.stdout.write(f"{total / 1e6:.2f} MB in {options.out}\n")
    return 0 if total <= BUDGET_BYTES else 1


def _walk(options: argparse.Namespace) -> Iterator[Shot]:
    choices = (
        options.walk,
        *(getattr(options, name).split(",") for name in ("themes", "languages", "sizes", "scales")),
    )
    for scene, theme, language, size, scale in itertools.product(*choices):
        width, _, height = size.partition("x")
        yield Shot(scene, theme, language, int(width), int(height), int(scale))


def take(shot: Shot, out: Path) -> int:
    """Open the window, play the scene, save the picture."""
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from kazeia_desktop.gui.bridge import EngineBridge
    from kazeia_desktop.gui.main_window import MainWindow
    from kazeia_desktop.paths import Paths
    from kazeia_desktop.settings.schema import Settings
    from kazeia_desktop.settings.store import with_value
    from tests.fakes.fake_engine import FakeHost

    app = QApplication([])
    app.setStyle("Fusion")
    settings = Settings()
    for key, value in (
        ("appearance.theme", shot.theme),
        ("appearance.language", shot.language),
        ("appearance.reduced_motion", True),
    ):
        settings = with_value(settings, key, value)
    host = FakeHost(half_duplex=True)
    home = Path(tempfile.mkdtemp())
    paths = Paths(*(home / name for name in ("config", "data", "cache", "logs")))
    window = MainWindow(EngineBridge(host.host(), settings), settings, paths)
    window.resize(shot.width, shot.height)
    window.show()
    QTest.qWaitForWindowExposed(window)
    scene: Callable[[object, object, object, Shot], None] = globals()[f"scene_{shot.scene}"]
    try:
        scene(window, host, lambda seconds: _let(app, seconds), shot)
        _let(app, 0.4)
        picture = window.grab()
    finally:
        window.close()
    path = out / f"{shot.name}.png"
    with tempfile.TemporaryDirectory() as scratch:
        raw = Path(scratch) / "raw.png"
        picture.toImage().convertToFormat(picture.toImage().Format.Format_RGB888).save(str(raw), "PNG", 0)
        path.write_bytes(raw.read_bytes())
    return 0


def _let(app, seconds: float) -> None:  # noqa: ANN001
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        app.processEvents()
        time.sleep(0.005)


def _texts(shot: Shot) -> tuple[str, str]:
    return (QUESTION, ANSWER) if shot.language == "fr" else (QUESTION_EN, ANSWER_EN)


def _begin(window, host, let) -> None:  # noqa: ANN001
    window.start()
    let(0.3)


def scene_loading(window, host, let, shot) -> None:  # noqa: ANN001
    host.hold.clear()
    window.start()
    let(0.4)


def scene_idle(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.events import State

    host.rest = State.IDLE
    _begin(window, host, let)


def scene_listening(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.events import Level

    _begin(window, host, let)
    host.engine.emit(Level(0.01))


def scene_hearing(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.events import Level, State, StateChanged, UserPartial

    _begin(window, host, let)
    question, answer = _texts(shot)
    host.engine.exchange(question, answer)
    host.engine.emit(StateChanged(State.HEARING))
    let(0.1)
    host.engine.emit(Level(0.12))
    host.engine.emit(
        UserPartial({"fr": "Et demain, est-ce que je dois", "en": "And tomorrow, do I have to"}[shot.language])
    )


def scene_thinking(window, host, let, shot) -> None:  # noqa: ANN001
    _begin(window, host, let)
    host.engine.hears(_texts(shot)[0])


def scene_speaking(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.events import Level

    _begin(window, host, let)
    question, answer = _texts(shot)
    greeting = (
        ("Bonjour.", "Bonjour, je vous écoute.") if shot.language == "fr" else ("Hello.", "Hello, I am listening.")
    )
    host.engine.exchange(*greeting)
    turn = host.engine.hears(question)
    first = answer.split(". ")[0] + "."
    host.engine.replies(turn, answer, CLAUSES if shot.language == "fr" else [first])
    window.presence.set_still(False)
    for step in range(34):
        let(0.025)
        host.engine.emit(Level(0.02 + 0.16 * abs(math.sin(step / 3)) * abs(math.sin(step / 11))))


def scene_interrupted(window, host, let, shot) -> None:  # noqa: ANN001
    _begin(window, host, let)
    question, answer = _texts(shot)
    turn = host.engine.hears(question)
    host.engine.replies(turn, answer, CLAUSES)
    host.engine.ends(turn, " ".join(CLAUSES), "interrupted")
    let(0.2)
    for bubble in window.chat.bubbles:
        bubble.chip.setChecked(True)


def scene_muted(window, host, let, shot) -> None:  # noqa: ANN001
    _begin(window, host, let)
    window.set_muted(True)


def scene_error(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.events import Failed

    _begin(window, host, let)
    question, answer = _texts(shot)
    host.engine.exchange(question, answer)
    host.engine.emit(
        Failed(
            "The settings cannot be saved to {path} ({reason}). Free space or check permissions.",
            {"path": "/home/moi/.config/kazeia/settings.toml", "reason": "No space left on device"},
            "settings",
            fatal=False,
        )
    )


def scene_missing(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.errors import ModelMissingError

    host.error = ModelMissingError(
        "The model {name} is not complete: {file} is missing. Run `kazeia models get {name}`.",
        name="whisper-base",
        file="model.bin",
    )
    _begin(window, host, let)


def scene_settings(window, host, let, shot) -> None:  # noqa: ANN001
    scene_speaking(window, host, let, shot)
    window.show_settings(True)
    while not window.panel.complete:
        let(0.05)
    let(0.4)
    if shot.width > 1000:
        window.panel.show_section("llm")
        window.panel.fields["llm.temperature"].editor._step_by(4)
        field = window.panel.fields["llm.top_k"].editor.field
        field.setText("5000")
        field.editingFinished.emit()
        let(0.2)
        bar = window.panel._scroll.verticalScrollBar()
        bar.setValue(bar.value() + 420)


def scene_activity(window, host, let, shot) -> None:  # noqa: ANN001
    """Forty turns like those of a small machine, and half a minute of load."""
    import random

    from kazeia_desktop.events import TurnEnded, TurnStarted

    _begin(window, host, let)
    by_chance = random.Random(1)
    middles = {
        "endpoint_ms": 640, "stt_ms": 420, "llm_ttft_ms": 110, "first_clause_ms": 330, "tts_ttfa_ms": 380,
        "first_audio_ms": 1800, "total_ms": 6200, "talker_ms": 26, "code_predictor_ms": 17, "codec_ms": 14,
    }  # fmt: skip
    for turn in range(1, 41):
        typed = turn % 4 == 0
        metrics = {name: round(ms * by_chance.lognormvariate(0.0, 0.22), 1) for name, ms in middles.items()}
        if typed:
            metrics["endpoint_ms"] = metrics["stt_ms"] = None
        metrics["tts_rtf"] = round(by_chance.uniform(0.7, 0.85), 3)
        host.engine.emit(TurnStarted(turn, typed))
        host.engine.emit(TurnEnded(turn, "", "interrupted" if turn % 7 == 0 else "done", metrics))
    let(0.2)
    window.show_page("activity")
    load = window.pages["activity"].load
    before_s = time.time() - 290
    for second in range(289):
        load.memory.plot.add(before_s + second, 610 + 3 * by_chance.random() + 90 * (second > 120))
        load.cpu.plot.add(before_s + second, 4 + 150 * (second % 60 in range(8, 16)) * by_chance.random())
    load._tell()


def scene_log(window, host, let, shot) -> None:  # noqa: ANN001
    """The lower end of the page, with a log."""
    scene_activity(window, host, let, shot)
    page = window.pages["activity"]
    page.log._file = Path(tempfile.mkdtemp()) / "kazeia.log"
    page.log._file.write_text(
        "".join(
            f"2026-11-30 09:{minute:02d}:12,480 {level:<7} {thread} kazeia_desktop.{name}: {text}\n"
            for minute, (level, thread, name, text) in enumerate(
                4
                * (
                    ("INFO", "engine", "llm.opening", "opened qwen2.5-coder-0.5b on the CPU in 0.6 s"),
                    ("INFO", "tts", "tts.qwen3_measure", "generator 2, codec 2: RTF 0.78"),
                    ("WARNING", "listen", "audio.capture", "the microphone went away; the default takes over"),
                    ("INFO", "listen", "audio.capture", "listening at 48000 Hz"),
                    ("ERROR", "llm", "pipeline.conversation", "the stage llm failed: RuntimeError"),
                )
            )
        ),
        "utf-8",
    )
    page.log.refresh()
    let(0.4)
    page.log.told.setText(page.context.words.tr("The file is {path}.", path="/home/moi/.local/state/kazeia/kazeia.log"))
    bar = page.scroll_area.verticalScrollBar()
    bar.setValue(bar.maximum())


def scene_presets(window, host, let, shot) -> None:  # noqa: ANN001
    scene_speaking(window, host, let, shot)
    window.show_settings(True)
    while not window.panel.complete:
        let(0.05)
    if shot.language == "fr":
        window.panel.presets.save.click()
        window.panel.presets.name.setText("Conte du soir")
        window.panel.fields["audio.volume"].editor._step_by(2)
    else:
        from kazeia_desktop.events import TurnEnded

        figures = {
            "tts_ttfa_ms": 402.0, "tts_rtf": 0.93, "talker_ms": 30.0, "code_predictor_ms": 24.5, "codec_ms": 19.0,
        }  # fmt: skip
        host.engine.emit(TurnEnded(99, "", "done", figures))
        window.panel.fields["tts.speed"].editor._step_by(2)
        window.panel.show_section("tts")
    let(0.6)


def scene_shortcuts(window, host, let, shot) -> None:  # noqa: ANN001
    """One that is refused, one that waits for its keys."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    scene_idle(window, host, let, shot)
    window.show_settings(True)
    while not window.panel.complete:
        let(0.05)
    window.panel.show_section("shortcuts")
    let(0.4)
    for name, keys in (("stop", (Qt.Key.Key_Return, Qt.Key.Key_M)), ("mute", (Qt.Key.Key_Return,))):
        field = window.panel.fields[f"shortcuts.{name}"].editor.field
        window.activateWindow()
        field.setFocus()
        for key in keys:
            control = Qt.KeyboardModifier.ControlModifier
            QTest.keyClick(field, key, control if key == Qt.Key.Key_M else Qt.KeyboardModifier.NoModifier)
    let(0.2)


def _keep(window, shot) -> None:  # noqa: ANN001
    """Conversations of several days, kept."""
    from kazeia_desktop.memory.conversations import ConversationStore

    french = shot.language == "fr"
    day = 86_400
    kept = (
        (170 * day, "Une recette de galettes de sarrasin", "A recipe for buckwheat pancakes"),
        (33 * day, "Apprendre les noms des étoiles d'été", "Learning the names of the summer stars"),
        (4 * day, "Que dire dans un discours de mariage, sans être longue ?", "What to say at a wedding, briefly?"),
        (day, "Un itinéraire le long du canal de Nantes à Brest", "A route along the canal from Nantes to Brest"),
        (day - 3600, "Pourquoi le ciel est-il rouge le soir ?", "Why is the sky red in the evening?"),
        (7200, "Préparer la randonnée de samedi", "Getting ready for Saturday's hike"),
        (300, QUESTION, QUESTION_EN),
    )
    for ago, title, title_en in kept:
        store = ConversationStore(window._paths.conversations_file, now=lambda ago=ago: time.time() - ago)
        store.add(None, title if french else title_en, ANSWER if french else ANSWER_EN, shot.language).result()
        store.close()
    window.change("privacy.keep_conversations", True)


def scene_conversations(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.llm.tools.timers import Pending

    _keep(window, shot)
    scene_speaking(window, host, let, shot)
    window.body.open_sidebar(True)
    let(0.4)
    window.sidebar.model.set_current(7)
    window.sidebar.view.setCurrentIndex(window.sidebar.model.index(window.sidebar.model.row_of(6)))
    label = "pâtes" if shot.language == "fr" else "pasta"
    window.timers.show_pending(
        [Pending("timer", time.time() + 245, 600, label), Pending("alarm", time.time() + 30_000)]
    )  # fmt: skip


def scene_search(window, host, let, shot) -> None:  # noqa: ANN001
    scene_conversations(window, host, let, shot)
    window.timers.show_pending([])
    window.sidebar.search.setFocus()
    window.sidebar.search.setText("coupe vent" if shot.language == "fr" else "wind")
    let(0.6)


def scene_delete(window, host, let, shot) -> None:  # noqa: ANN001
    scene_conversations(window, host, let, shot)
    window.sidebar._ask_to_delete()


def scene_delete_all(window, host, let, shot) -> None:  # noqa: ANN001
    scene_conversations(window, host, let, shot)
    window.sidebar.delete_all.button.click()


def scene_private(window, host, let, shot) -> None:  # noqa: ANN001
    scene_speaking(window, host, let, shot)
    window.body.open_sidebar(True)


def scene_facts(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.memory.facts import FactsNote

    FactsNote(window._paths.facts_file).write("J'habite à Rennes.\nJe préfère des réponses courtes.")
    scene_conversations(window, host, let, shot)
    window.sidebar.show_facts()


def scene_continue(window, host, let, shot) -> None:  # noqa: ANN001
    _keep(window, shot)
    _begin(window, host, let)
    window.body.open_sidebar(True)


WRITTEN = {
    "fr": (
        "Écris-moi un petit programme qui compte les mots.",
        "Voici comment faire **en trois étapes**\u202f:\n\n1. Lire le fichier avec `open`.\n2. Séparer les mots.\n"
        "3. Compter\u202f:\n   - chaque mot une fois,\n   - sans les accents.\n\n```python\n"
        "from collections import Counter\n\nwords = open('texte.txt').read().split()\n"
        "print(Counter(words).most_common(5))\n```\n\n"
        "Voulez-vous que j'explique `Counter`\u202f?",
        "mots",
    ),
    "en": (
        "Write me a small program that counts words.",
        "Here is how, **in three steps**:\n\n1. Read the file with `open`.\n2. Split the words.\n3. Count:\n"
        "   - each word once,\n   - without accents.\n\n```python\nfrom collections import Counter\n"
        "\nwords = open('text.txt').read().split()\nprint(Counter(words).most_common(5))\n```\n\n"
        "Shall I explain `Counter`?",
        "words",
    ),
}


def scene_messages(window, host, let, shot) -> None:  # noqa: ANN001
    """Rendered text, the chips with their breakdown, and what can be done with a message."""
    _begin(window, host, let)
    question, answer, _ = WRITTEN[shot.language]
    host.engine.exchange(*_texts(shot))
    host.engine.exchange(question, answer)
    let(0.3)
    chat = window.chat
    chat.bubbles[-1].chip.setChecked(True)
    if shot.width > 1000:
        window.messages.tools._bubble = chat.bubbles[-1]
        chat.bubbles[-1].underMouse = lambda: True
    chat.follow()
    let(0.2)


def scene_find(window, host, let, shot) -> None:  # noqa: ANN001
    _begin(window, host, let)
    question, answer, wanted = WRITTEN[shot.language]
    host.engine.exchange(question, answer)
    let(0.2)
    window.messages.find.open_bar()
    window.messages.find.field.setText(wanted)
    let(0.5)


def scene_edit(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.gui.message_actions import Action

    _begin(window, host, let)
    question, answer, _ = WRITTEN[shot.language]
    host.engine.exchange(question, answer)
    let(0.2)
    window.messages.do(Action.EDIT, 0)


def scene_compare(window, host, let, shot) -> None:  # noqa: ANN001
    import numpy as np

    from kazeia_desktop.gui.compare.work import Pair, outline
    from kazeia_desktop.pipeline.comparing import Spoken
    from kazeia_desktop.tts.base import SpeechFigures

    def spoken(name, first_ms, rtf, figures, load_ms, phase):  # noqa: ANN001, ANN202
        at = np.arange(60_000) / 24_000
        sound = (np.sin(at * 700) * np.abs(np.sin(at * 5 + phase)) * np.exp(-at / 3)).astype(np.float32)
        return Spoken(name, sound, 24_000, load_ms, first_ms, rtf, figures, None)

    _begin(window, host, let)
    window.show_page("compare")
    let(0.3)
    page = window.page
    own = SpeechFigures(31, 0.93, 30.0, 24.5, 19.0, 0)
    sides = (
        spoken("Qwen3-TTS 0.6B, vivian", 310.0, 0.93, own, 1420.0, 0.0),
        spoken("Kokoro, ff_siwis", 240.0, 0.31, None, 610.0, 0.6),
    )
    page._made(Pair(sides, (outline(sides[0], 1.0), outline(sides[1], 1.0)), None))
    for _ in range(4):
        page.blind.like_x.click()
    page.blind.reveal.click()
    let(0.3)
    if shot.width < 1000 or shot.language == "en":
        bar = page.scroll_area.verticalScrollBar()
        bar.setValue(bar.maximum())


def _home_with_models(window) -> Path:  # noqa: ANN001
    """A folder of its own in which the starter set seems to be there; the files are empty but as long as they are."""
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.paths import Paths

    home = Path(tempfile.mkdtemp(prefix="kazeia-shot-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    paths = Paths(home / "config", home / "data", home / "cache", home / "logs")
    for entry in Catalog.load():
        if entry.starter:
            for file in entry.files:
                place = paths.models_dir / entry.name / file.name
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("wb") as stream:
                    stream.truncate(file.bytes or 0)
    object.__setattr__(window._context, "paths", paths)
    return home


def _add_own_voice(window) -> None:  # noqa: ANN001
    from kazeia_desktop.tts.voice_learning import encoder_for
    from kazeia_desktop.tts.voice_store import VoiceStore
    from tests.fakes.speaker_network import voice_like, write_model

    paths = window._context.paths
    write_model(paths.models_dir / "qwen3-tts-0.6b-q8_0", "Qwen3-TTS-12Hz-0.6B-Base")
    encoder, model = encoder_for(paths, window._context.settings())
    consents = (
        ("ma-voix", "moi-même, 12 novembre 2026, par écrit"),
        ("voix-grave", "mon grand-père, 14 novembre 2026, de vive voix"),
    )
    for name, consent in consents:
        VoiceStore.of(paths).add(name, voice_like(9.4), consent, encoder, model, source=f"{name.lower()}.flac")


def scene_voices(window, host, let, shot) -> None:  # noqa: ANN001
    _home_with_models(window)
    _add_own_voice(window)
    _begin(window, host, let)
    window.change_all({"tts.engine": "qwen3", "tts.voice": "ma-voix"})
    window.show_page("voices")
    while window.page.listing is None:
        let(0.05)
    if shot.theme == "dark":
        row = window.page.row_of("voix-grave")
        row.delete.click()
        let(0.2)
        bar = window.page.scroll_area.verticalScrollBar()
        bar.setValue(bar.maximum())


def scene_voice_add(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.gui.voices import work
    from tests.fakes.speaker_network import voice_like

    _home_with_models(window)
    _add_own_voice(window)
    _begin(window, host, let)
    window.show_page("voices")
    while window.page.listing is None:
        let(0.05)
    page = window.page
    page.add_button.click()
    let(0.3)
    if shot.theme == "dark":
        from kazeia_desktop.audio import recorder

        def record(device, longest_s, finish, cancel, report) -> None:  # noqa: ANN001
            while not cancel.wait(0.02):
                report(recorder.Heard("Micro", 7.4, 0.08, 0.6, False))
            cancel.raise_if_set()

        recorder.record = record
        page.add.record.start()
        let(0.3)
    else:
        page.add._taken(work.judge(voice_like(9.4), "enregistrement.flac"))
        page.add.name.setText("voix-claire")
        page.add.who.setText("ma sœur")
        page.add.agreed.setChecked(True)


def scene_models(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.gui.models.queue import ModelQueue, Phase, Task, Verb
    from kazeia_desktop.models.fetch import Progress

    _home_with_models(window)
    _add_own_voice(window)
    _begin(window, host, let)
    window.show_page("models")
    page = window.page
    while page.listing is None:
        let(0.05)
    queue = ModelQueue.of(window._context)
    for key, phase, done in (("qwen3-4b-instruct", Phase.RUNNING, 0.41), ("whisper-small", Phase.PAUSED, 0.7)):
        item = page.listing.item(key)
        total = item.size or 0
        news = Progress(key, "", round(done * total), total, 11_400_000.0, (1 - done) * total / 11.4e6)
        queue._tasks[key] = Task(key, Verb.GET, item.title, lambda *_: None, phase, news)
    queue._tasks["whisper-large-v3-turbo"] = Task("whisper-large-v3-turbo", Verb.GET, "", lambda *_: None)
    page._fill()
    bar = page.scroll_area.verticalScrollBar()
    let(0.3)
    bar.setValue(bar.maximum() // 2 if shot.width < 900 else 0)
    queue._tasks.clear()


def scene_models_smaller(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.gui.models import work

    work.sizes = lambda *_: (491_400_064, 360_660_065)
    _home_with_models(window)
    _begin(window, host, let)
    window.show_page("models")
    page = window.page
    while page.listing is None or "qwen2.5-coder-0.5b" not in page.rows:
        let(0.05)
    page.rows["qwen2.5-coder-0.5b"].smaller.click()
    page.rows["qwen2.5-coder-0.5b"].part.type.show_value("q4_0-pure")
    page.rows["qwen2.5-coder-0.5b"].part.type.edited.emit()
    let(0.3)


def _first_run(window, host, let, at: int) -> None:  # noqa: ANN001
    from kazeia_desktop.gui.voices.device_choice import DeviceChoice

    DeviceChoice._list = lambda *_: ("Micro USB", "Casque")
    window.show_page("first-run")
    window.page.show_step(at)
    let(0.4)


def scene_first_run_welcome(window, host, let, shot) -> None:  # noqa: ANN001
    scene_missing(window, host, let, shot)
    _first_run(window, host, let, 0)


def scene_first_run_models(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.gui.models.queue import ModelQueue, Phase, Task, Verb
    from kazeia_desktop.models.fetch import Progress

    home = _home_with_models(window)
    shutil.rmtree(home / "data" / "models" / "qwen2.5-coder-0.5b")
    shutil.rmtree(home / "data" / "models" / "whisper-base")
    scene_missing(window, host, let, shot)
    _first_run(window, host, let, 1)
    step, queue = window.page.models, ModelQueue.of(window._context)
    step._chosen = "starter"
    news = Progress("whisper-base", "", 60_000_000, 147_000_000, 11_400_000.0, 8.0)
    queue._tasks["whisper-base"] = Task("whisper-base", Verb.GET, "Whisper base", lambda *_: None, Phase.RUNNING, news)
    queue._tasks["qwen2.5-coder-0.5b"] = Task("qwen2.5-coder-0.5b", Verb.GET, "Qwen2.5", lambda *_: None)
    step._refresh()
    let(0.2)
    queue._tasks.clear()


def scene_first_run_microphone(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.audio import recorder

    def record(device, longest_s, finish, cancel, report, keep) -> None:  # noqa: ANN001
        while not cancel.wait(0.02):
            report(recorder.Heard(device, 1.0, 0.07, 0.3, False))
        cancel.raise_if_set()

    recorder.record = record
    _begin(window, host, let)
    _first_run(window, host, let, 2)


def scene_first_run_loudspeaker(window, host, let, shot) -> None:  # noqa: ANN001
    _begin(window, host, let)
    _first_run(window, host, let, 3)
    window.page.steps[3]._played = True
    window.page.steps[3]._refresh()


def scene_first_run_preparing(window, host, let, shot) -> None:  # noqa: ANN001
    from kazeia_desktop.gui.first_run import loudspeaker_step

    def sound(paths, settings, cancel, report) -> None:  # noqa: ANN001
        report(loudspeaker_step.PREPARING)
        while not cancel.wait(0.02):
            pass
        cancel.raise_if_set()

    loudspeaker_step.sound = sound
    _begin(window, host, let)
    _first_run(window, host, let, 3)
    window.page.steps[3].play.click()
    let(0.3)


def scene_first_run_words(window, host, let, shot) -> None:  # noqa: ANN001
    _begin(window, host, let)
    _first_run(window, host, let, 4)


# end of the scenes of voices and models


if __name__ == "__main__":
    sys.exit(main())
