"""Settings that change in the middle of a reply: heard at the next clause, without a gap, and never lost."""

import threading
from collections.abc import Callable

import pytest

from kazeia_desktop.errors import ModelMissingError, SettingsError
from kazeia_desktop.events import Failed, TurnEnded, VoiceChanged
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import Value, with_value
from tests.fakes.stages import FakeConversation, FakeRecognizer, FakeSession, FakeSynthesizer, until

pytestmark = pytest.mark.pipeline

CLAUSES = ["Bonjour à vous.", "Il fait beau.", "Au revoir."]


def changed(*pairs: tuple[str, Value]) -> Settings:
    settings = Settings()
    for key, value in pairs:
        settings = with_value(settings, key, value)
    return settings


class Voices:
    """Makes voices; `before` is called in the making thread."""

    def __init__(self, fake: FakeConversation, before: Callable[[], None] = lambda: None) -> None:
        self.made: list[FakeSynthesizer] = []
        self.threads: list[str] = []
        self.old_closed: list[bool] = []
        self._fake = fake
        self._before = before
        fake.make_voice = self._make

    def _make(self, settings: Settings) -> FakeSynthesizer:
        self.threads.append(threading.current_thread().name)
        self.old_closed.append(self._fake.voice.closed)
        self._before()
        self.made.append(FakeSynthesizer())
        return self.made[-1]


def speaking(fake: FakeConversation) -> None:
    """The first clause is being made, the others wait."""
    fake.voice.gate.shut()
    fake.conversation.send_text("Bonjour")
    until(fake.voice.gate.reached.is_set, "the voice begins")
    until(lambda: len(fake.conversation._to_speak) == 2, "two clauses wait")


def goes_on(fake: FakeConversation) -> None:
    fake.voice.gate.open()
    end = fake.watcher.wait_for(TurnEnded)
    assert isinstance(end, TurnEnded) and end.reason == "done"


@pytest.mark.parametrize(
    ("key", "value"),
    [("tts.speed", 1.4), ("tts.talker_temperature", 0.3), ("tts.talker_threads", 1), ("tts.voice", "x")],
)
def test_what_needs_no_other_voice_reaches_the_one_that_speaks_at_once(key: str, value: Value) -> None:
    with FakeConversation(instant=True) as fake:
        voices = Voices(fake)
        speaking(fake)
        settings = changed((key, value))
        fake.conversation.apply(settings)
        assert fake.voice.applied == [settings.tts]  # while the clause is still being made
        goes_on(fake)
        assert fake.voice.spoken == CLAUSES and not voices.made and not fake.voice.closed


def test_another_voice_is_loaded_beside_the_one_that_speaks_and_says_the_next_clause() -> None:
    with FakeConversation(instant=True) as fake:
        voices = Voices(fake)
        old = fake.voice
        speaking(fake)
        fake.conversation.apply(changed(("tts.threads", 1)))
        assert voices.threads == [threading.current_thread().name]  # not in the voice's own, which is busy
        assert voices.old_closed == [False] and not old.closed
        goes_on(fake)
        assert old.spoken == CLAUSES[:1] and voices.made[0].spoken == CLAUSES[1:]
        assert old.closed and not voices.made[0].closed
        assert VoiceChanged(voices.made[0].name) in fake.watcher.events
        assert fake.conversation.placement.get("tts", voices.made[0].name) == voices.made[0].name


def test_where_memory_is_short_the_old_voice_is_closed_first() -> None:
    with FakeConversation(instant=True) as fake:
        fake.room_for_two = False
        voices = Voices(fake)
        speaking(fake)
        fake.conversation.apply(changed(("tts.threads", 1)))
        assert not voices.made
        goes_on(fake)
        assert voices.old_closed == [True] and voices.threads == ["tts"]
        assert fake.voice.spoken == CLAUSES[:1] and voices.made[0].spoken == CLAUSES[1:]


def test_a_voice_of_another_engine_brings_it_along() -> None:
    with FakeConversation(instant=True) as fake:
        fake.engine = lambda s: "system" if s.tts.voice == "espeak-ng" else "kokoro"
        voices = Voices(fake)
        speaking(fake)
        fake.conversation.apply(changed(("tts.voice", "other of Kokoro")))
        assert not voices.made
        fake.conversation.apply(changed(("tts.voice", "espeak-ng")))
        assert len(voices.made) == 1
        goes_on(fake)
        assert voices.made[0].spoken == CLAUSES[1:]


def test_an_engine_that_cannot_be_told_disturbs_nothing() -> None:
    def missing(_settings: Settings) -> str:
        raise ModelMissingError("There is no converted voice model {name!r}: choose {there}.", name="x", there="-")

    with FakeConversation(instant=True) as fake:
        fake.engine = missing
        settings = changed(("tts.voice", "x"), ("llm.temperature", 1.0))
        fake.conversation.apply(settings)
        assert fake.voice.applied == [settings.tts] and fake.session.applied == [settings.llm]


def test_a_voice_that_cannot_be_had_is_told_and_the_one_before_goes_on() -> None:
    def missing() -> None:
        raise ModelMissingError("There is no converted voice model {name!r}: choose {there}.", name="x", there="-")

    with FakeConversation(instant=True) as fake:
        Voices(fake, missing)
        speaking(fake)
        fake.conversation.apply(changed(("tts.model", "x")))
        failed = fake.watcher.wait_for(Failed)
        assert isinstance(failed, Failed) and failed.action == "settings" and not failed.fatal
        goes_on(fake)
        assert fake.voice.spoken == CLAUSES and not fake.voice.closed


def test_of_two_voices_in_a_row_only_the_last_speaks_and_the_other_is_closed() -> None:
    with FakeConversation(instant=True) as fake:
        voices = Voices(fake)
        speaking(fake)
        fake.conversation.apply(changed(("tts.threads", 1)))
        fake.conversation.apply(changed(("tts.threads", 3)))
        first, second = voices.made
        assert first.closed and not first.spoken
        goes_on(fake)
        assert second.spoken == CLAUSES[1:] and fake.voice.closed


def test_what_changes_before_the_new_voice_speaks_reaches_it() -> None:
    with FakeConversation(instant=True) as fake:
        voices = Voices(fake)
        speaking(fake)
        fake.conversation.apply(changed(("tts.threads", 1)))
        newest = changed(("tts.threads", 1), ("tts.speed", 1.5))
        fake.conversation.apply(newest)
        assert len(voices.made) == 1 and voices.made[0].applied[-1] == newest.tts
        goes_on(fake)
        assert voices.made[0].applied[-1] == newest.tts


def test_closing_closes_a_voice_that_never_spoke() -> None:
    with FakeConversation(instant=True) as fake:
        voices = Voices(fake)
        speaking(fake)
        fake.conversation.apply(changed(("tts.threads", 1)))
    assert voices.made[0].closed and fake.voice.closed
    fake.conversation.apply(changed(("tts.threads", 2)))  # too late: nothing is loaded
    assert len(voices.made) == 1


def test_closing_while_a_voice_is_loaded_closes_it_too() -> None:
    held, loading = threading.Event(), threading.Event()

    def wait() -> None:
        loading.set()
        assert held.wait(5)

    fake = FakeConversation(instant=True)
    voices = Voices(fake, wait)
    fake.conversation.start()
    applying = threading.Thread(target=fake.conversation.apply, args=(changed(("tts.threads", 1)),))
    applying.start()
    assert loading.wait(5)
    fake.conversation.close()
    held.set()
    applying.join(5)
    assert voices.made[0].closed


def test_a_language_model_that_is_loaded_takes_what_changed_meanwhile() -> None:
    held, loading = threading.Event(), threading.Event()
    with FakeConversation(instant=True) as fake:
        made: list[tuple[int, FakeSession]] = []

        def make(settings: Settings) -> FakeSession:
            loading.set()
            assert held.wait(5)
            made.append((settings.llm.n_ctx, FakeSession("Oui.")))
            return made[-1][1]

        fake.make_session = make
        fake.conversation.apply(changed(("llm.n_ctx", 1024)))
        assert loading.wait(5)
        newest = changed(("llm.n_ctx", 1024), ("llm.temperature", 1.5))
        fake.conversation.apply(newest)
        held.set()
        until(lambda: bool(made) and made[0][1].applied[-1:] == [newest.llm], "the new model hears of it")
        assert len(made) == 1


def test_changes_that_wait_for_the_model_load_it_once_or_not_at_all() -> None:
    with FakeConversation(instant=True) as fake:
        sizes: list[int] = []

        def make(settings: Settings) -> FakeSession:
            sizes.append(settings.llm.n_ctx)
            return FakeSession("Oui.")

        fake.make_session = make
        fake.session.gate_at = 0
        fake.session.gate.shut()
        fake.conversation.send_text("Bonjour")
        until(fake.session.gate.reached.is_set, "the model begins")
        for size in (1024, 2048, 3072):
            fake.conversation.apply(changed(("llm.n_ctx", size)))
        fake.session.gate.open()
        until(lambda: sizes == [3072], "the last one is loaded")
        until(lambda: len(fake.conversation._prompts) == 0, "nothing waits")
        fake.conversation.send_text("Encore")
        assert fake.watcher.wait_for(TurnEnded, reason="done")
        assert sizes == [3072]


def test_a_change_that_is_taken_back_loads_nothing() -> None:
    with FakeConversation(["Un.", "Deux."], instant=True) as fake:
        made: list[Settings] = []

        def make(settings: Settings) -> FakeRecognizer:
            made.append(settings)
            return FakeRecognizer(["Jamais."])

        fake.make_recognizer = make
        fake.recognizer.gate.shut()
        fake.ask()
        until(fake.recognizer.gate.reached.is_set, "recognition begins")
        fake.conversation.apply(changed(("stt.threads", 4)))
        fake.conversation.apply(Settings())
        fake.recognizer.gate.open()
        assert fake.watcher.wait_for(TurnEnded, reason="done")
        fake.ask()
        assert fake.watcher.wait_for(TurnEnded, reason="done")
        assert made == [] and not fake.recognizer.closed


def test_a_value_that_does_not_fit_the_new_voice_is_told() -> None:
    class Picky(FakeSynthesizer):
        def apply(self, settings: object) -> None:
            raise SettingsError("There is no voice {name!r}: choose {there}.", name="x", there="-")

    with FakeConversation(instant=True) as fake:
        fake.make_voice = lambda s: Picky()
        fake.conversation.apply(changed(("tts.threads", 1)))
        assert fake.watcher.wait_for(Failed, action="settings")
        fake.conversation.send_text("Bonjour")
        assert fake.watcher.wait_for(TurnEnded, reason="done")


def test_the_figures_of_a_turn_tell_the_stages_speed() -> None:
    with FakeConversation(instant=True) as fake:
        fake.ask()
        end = fake.watcher.wait_for(TurnEnded)
        assert isinstance(end, TurnEnded)
        assert end.metrics["stt_ms_per_s"] is not None and end.metrics["stt_ms_per_s"] >= 0
        assert end.metrics["tts_rtf"] is not None and 0 <= end.metrics["tts_rtf"] < 1
        assert end.metrics["llm_token_ms"] is None  # the fake session cannot tell
