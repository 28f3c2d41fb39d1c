"""The right tool, or rightly none, on the starter model: the committed requests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kazeia_desktop.llm.chat_session import LlamaChatSession
from kazeia_desktop.llm.tools.elicit import elicit
from kazeia_desktop.llm.tools.request import Request
from kazeia_desktop.llm.tools.understanding import TOOLS, candidates, understand
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings
from tests.realmodels import require_model
from tests.unit.llm.tools.test_understanding import is_right, requests

pytestmark = pytest.mark.golden

ALL = frozenset(TOOLS) - {"limits"}  # a tool made later, with tables of its own: test_ask_elsewhere.py


@pytest.fixture(scope="module")
def session() -> Iterator[LlamaChatSession]:
    file: Path = next(require_model("qwen2.5-coder-0.5b").glob("*.gguf"))
    made = LlamaChatSession(file, LlmSettings(threads=1, n_ctx=2048))
    yield made
    made.close()


@pytest.mark.parametrize(("name", "share"), [("tool_requests.toml", 0.9), ("tool_requests_more.toml", 0.9)])
def test_the_right_tool_or_rightly_none(session: LlamaChatSession, name: str, share: float) -> None:
    rows, wrong = requests(name), []
    for language, row in rows:
        text = row["text"]
        call = understand(text, language, ALL)
        if call is None and (maybe := candidates(text, language, ALL)):
            call = elicit(Request(text, language), maybe, session.aside, CancelToken())
        if not is_right(call, row):
            wrong.append((text, call))
    assert len(wrong) <= (1 - share) * len(rows), wrong
    assert session.history == []
