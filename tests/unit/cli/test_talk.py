"""What `kazeia talk --json` writes of each event."""

import json

import pytest

from kazeia_desktop import events
from kazeia_desktop.cli.talk import _plain
from kazeia_desktop.events import ConversationOpened, Event, Exchange, Failed, Notice, State, TurnEnded, UserPartial

pytestmark = pytest.mark.unit

FORGOTTEN = "The conversation is long: its oldest part was forgotten."
TOLD: tuple[tuple[Event, str, object], ...] = (
    (events.StateChanged(State.MUTED), "state", "muted"),
    (UserPartial("Bon"), "text", "Bon"),
    (TurnEnded(1, "Oui.", "done", {"stt_ms": None, "total_ms": 2.0}), "metrics", {"stt_ms": None, "total_ms": 2.0}),
    (Notice(FORGOTTEN, {}), "values", {}),
    (Failed(FORGOTTEN, {}, "", fatal=False), "fatal", False),
    (
        ConversationOpened(3, "Étoiles", (Exchange(1, "Un ?", "Deux.", "interrupted", {"total_ms": 2.0}, 5.0),)),
        "exchanges",
        [
            {
                "turn_id": 1,
                "question": "Un ?",
                "answer": "Deux.",
                "reason": "interrupted",
                "metrics": {"total_ms": 2.0},
                "asked_s": 5.0,
            }
        ],
    ),
)


@pytest.mark.parametrize(("event", "field", "value"), TOLD, ids=[type(event).__name__ for event, _, _ in TOLD])
def test_every_event_is_json(event: Event, field: str, value: object) -> None:
    assert json.loads(json.dumps(_plain(event)))[field] == value
