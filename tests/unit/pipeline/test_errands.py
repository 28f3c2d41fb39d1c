"""Tools act on the conversation they belong to."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kazeia_desktop.llm.base import Message
from kazeia_desktop.pipeline.errands import Errands
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import with_value

pytestmark = pytest.mark.unit


def ask(messages: Sequence[Message], cancel: CancelToken, max_tokens: int = 64, grammar: str | None = None) -> str:
    raise AssertionError("not in doubt")


def test_volume_and_language_follow_the_settings(tmp_path: Path) -> None:
    changed: list[tuple[str, float]] = []
    errands = Errands(tmp_path / "alarms.json", Settings())
    errands.start(lambda said: True, lambda key, value: changed.append((key, value)))
    louder = errands.answer("Parle plus fort", ask, CancelToken())
    assert louder is not None and louder.said == "Le volume est à 120 %." and changed == [("audio.volume", 1.2)]
    errands.apply(with_value(with_value(Settings(), "llm.language", "en"), "tools.clock", False))
    assert errands.answer("What time is it?", ask, CancelToken()) is None
    assert errands.answer("2 plus 2", ask, CancelToken()) is not None
    errands.close()


def test_a_timer_is_said_and_can_be_cancelled(tmp_path: Path) -> None:
    said: list[str] = []
    errands = Errands(tmp_path / "alarms.json", Settings())

    def announce(text: str) -> bool:
        said.append(text)
        return True

    errands.start(announce, lambda key, value: None)
    errands.answer("Mets un minuteur d'une heure", ask, CancelToken())
    errands.answer("Réveille-moi à 7 h", ask, CancelToken())
    assert len(errands.pending()) == 2
    errands._ring(errands.pending()[0])
    assert said == ["Le minuteur d'une heure est terminé."]
    errands.cancel(errands.pending()[:1])
    assert len(errands.pending()) == 1
    errands.close()
    assert (tmp_path / "alarms.json").exists()


def test_a_conversation_that_does_not_last_keeps_no_alarm(tmp_path: Path) -> None:
    errands = Errands(None, Settings())
    errands.start(lambda said: True, lambda key, value: None)
    errands.answer("Réveille-moi à 7 h", ask, CancelToken())
    assert len(errands.pending()) == 1
    errands.close()
    assert list(tmp_path.iterdir()) == []
