"""Tools and memory of a typed conversation."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kazeia_desktop.cli.chat_partner import Partner
from kazeia_desktop.errors import StorageError
from kazeia_desktop.llm.base import Message
from kazeia_desktop.memory.conversations import ConversationStore
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import SettingsStore, with_value
from tests.fakes.stages import FakeSession

pytestmark = pytest.mark.unit

KEEPS = with_value(Settings(), "privacy.keep_conversations", True)


class Session(FakeSession):
    """Says its answer at once."""

    def reply(self, user_text: str, cancel: CancelToken) -> Iterator[str]:
        self.said.append((user_text, self.answer))
        yield self.answer

    def record(self, user_text: str, answer: str) -> None:
        self.said.append((user_text, answer))

    def restore(self, history: list[Message]) -> None:  # type: ignore[override]
        self.said = [(a.text, b.text) for a, b in zip(history[::2], history[1::2], strict=True)]


def say(partner: Partner, text: str) -> str:
    return "".join(partner.reply(text, CancelToken()))


def test_tools_answer_and_the_rest_is_the_models(kazeia_home: Path) -> None:
    paths = Paths.from_environment()
    partner = Partner(Session("Bonjour."), paths, Settings(), tools=True)  # type: ignore[arg-type]
    assert say(partner, "Combien font 17 fois 23 ?") == "Cela fait 391." and partner.by_tool
    assert say(partner, "Salut") == "Bonjour." and not partner.by_tool
    assert say(partner, "Parle plus fort") == "Le volume est à 120 %."
    assert SettingsStore(paths.settings_file).load().audio.volume == 1.2
    assert say(partner, "Parle plus fort") == "Le volume est à 140 %."
    partner.close()
    assert not paths.data_dir.exists()


def test_without_tools_the_model_answers(kazeia_home: Path) -> None:
    partner = Partner(Session("Bonjour."), Paths.from_environment(), Settings(), tools=False)  # type: ignore[arg-type]
    assert say(partner, "Quelle heure est-il ?") == "Bonjour." and not partner.by_tool
    partner.close()


def test_what_is_kept_can_be_resumed(kazeia_home: Path) -> None:
    paths = Paths.from_environment()
    partner = Partner(Session("Bonjour."), paths, KEEPS, tools=True)  # type: ignore[arg-type]
    say(partner, "Je m'appelle Zoé")
    say(partner, "2 plus 2")
    partner.close()
    again = Session("Oui.")
    partner = Partner(again, paths, KEEPS, tools=True)  # type: ignore[arg-type]
    with pytest.raises(StorageError, match="no conversation 9"):
        partner.resume(9)
    partner.resume(1)
    assert again.said == [("Je m'appelle Zoé", "Bonjour."), ("2 plus 2", "Cela fait 4.")]
    say(partner, "Encore")
    partner.close()
    store = ConversationStore(paths.conversations_file)
    assert [summary.n_messages for summary in store.summaries()] == [6]
    store.close()


def test_a_timer_waits_until_nobody_is_answered(kazeia_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    partner = Partner(Session("Bonjour."), Paths.from_environment(), Settings(), tools=True)  # type: ignore[arg-type]
    reply = partner.reply("Salut", CancelToken())
    next(reply)
    assert not partner._announce("Le minuteur est terminé.")
    list(reply)
    assert partner._announce("Le minuteur est terminé.")
    assert capsys.readouterr().err == "Kazeia: Le minuteur est terminé.\n"
    partner.close()
