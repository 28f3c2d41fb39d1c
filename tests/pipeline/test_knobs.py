"""Every knob turned at random on stages without models: thousands of changes in a few seconds."""

import random
import threading

import pytest

from kazeia_desktop.errors import ModelMissingError, SettingsError
from kazeia_desktop.events import Event, Failed, Notice, TurnEnded
from kazeia_desktop.pipeline.conversation import Conversation
from kazeia_desktop.settings.schema import Settings, TtsSettings
from tests.fakes.stages import FakeConversation, FakeRecognizer, FakeSession, FakeSynthesizer
from tests.knobs import Ear, Knobs, keys, soak

pytestmark = pytest.mark.pipeline

SECONDS = 3.0
UNKNOWN = ("", "nobody")


class Picky(FakeSynthesizer):
    """Has one voice only."""

    def apply(self, settings: TtsSettings) -> None:
        super().apply(settings)
        if settings.voice == "nobody":
            raise SettingsError("There is no voice {name!r}: choose {there}.", name="nobody", there="-")


def made(fake: FakeConversation, ear: Ear, draw: random.Random) -> Conversation:
    """The fakes' parts, makers that sometimes fail, and an ear."""

    def maybe(settings: Settings) -> None:
        if settings.tts.model == "nobody":
            raise ModelMissingError("There is no converted voice model {name!r}: choose {there}.", name="x", there="-")

    def voice(settings: Settings) -> FakeSynthesizer:
        maybe(settings)
        return Picky()

    fake.make_voice = voice
    fake.make_session = lambda s: FakeSession("Oui. Non. Peut-être.")
    fake.make_recognizer = lambda s: FakeRecognizer(["Après le changement."])
    fake.engine = lambda s: "system" if s.tts.voice == "espeak-ng" else s.tts.engine
    return Conversation(fake.conversation._parts, fake.settings, ear)


@pytest.mark.parametrize("room", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_is_turned_the_conversation_goes_on(seed: int, room: bool) -> None:
    before = frozenset(threading.enumerate())
    draw, ear = random.Random(seed), Ear()
    fake = FakeConversation(instant=True)
    fake.room_for_two = room
    conversation = made(fake, ear, draw)
    knobs = Knobs(draw, {"tts.voice": (*UNKNOWN, "espeak-ng"), "tts.model": UNKNOWN})
    outcome = soak(conversation, ear, knobs, SECONDS, Settings(), 0.004, fake.ask, before)
    assert outcome.good(ear), (outcome, ear.faults)
    assert outcome.changes > 200 and outcome.checks > 2 and outcome.close_s < 2, outcome
    assert ear.ended["done"] >= outcome.checks and ear.told["There is no voice {name!r}: choose {there}."]


def test_every_knob_has_values_and_each_is_drawn() -> None:
    knobs, settings = Knobs(random.Random(3)), Settings()
    seen: set[str] = set()
    for _ in range(4000):
        settings, turned = knobs.turned(settings)
        seen.update(turned)
    assert seen == set(keys())


@pytest.mark.parametrize(
    ("event", "fault"),
    [
        (Failed("There is no voice {name!r}: choose {there}.", {"name": "x", "there": "-"}, "", fatal=False), False),
        (Failed("There is no voice {name!r}: choose {there}.", {"name": "x", "there": "-"}, "", fatal=True), True),
        (Failed("There is no voice {name!r}: choose {there}.", {}, "", fatal=False), True),
        (Notice("Nobody translated this.", {}), True),
        (Failed("Something unexpected went wrong ({reason}). Kazeia goes on; the log says more.", {"reason": "x"}, "",
                fatal=False), True),
        (TurnEnded(1, "", "done", {}), False),
    ],
)  # fmt: skip
def test_the_ear_knows_a_fault(event: Event, fault: bool) -> None:
    ear = Ear()
    ear(event)
    assert bool(ear.faults) is fault
