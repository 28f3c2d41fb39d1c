"""The model's own chat template, with the text of messages kept out of its reach.

A message's text must not become control tokens ("<|im_end|>" typed by a user). So the template is
rendered with a placeholder for each text; what stands between the placeholders is the template's and may
hold control tokens, the texts are tokenised as plain text.
"""

import datetime
import json
import re
from collections.abc import Sequence
from typing import Any, Final

import jinja2
import jinja2.sandbox

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.llm.base import Message

_MARK: Final = "\ue000{}\ue001"  # private use: no template and no model writes it
_MARKS: Final = re.compile("\ue000(\\d+)\ue001")
_FOR_TRAINING: Final = re.compile(r"\{%-?\s*(?:end)?generation\s*-?%\}")  # a tag of transformers, unknown to Jinja
_OPEN_THOUGHT: Final = re.compile(r"<(think(?:ing)?)>\s*\Z")
_SWITCHES: Final = ("enable_thinking", "thinking")
"""What templates call the switch of a model that can think first."""
_UNUSABLE: Final = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a template of unknown origin can raise."""


class ChatTemplate:
    """A compiled template.

    Args:
        source: Jinja text of the model's file; None when it has none.
        bos, eos: texts of those tokens.
    Raises:
        ModelIncompatibleError: no template, or one that cannot be used.
    """

    def __init__(self, source: str | None, bos: str, eos: str) -> None:
        if not source:
            raise ModelIncompatibleError(
                "This model has no chat template: it continues texts but does not converse. Choose an instruct model."
            )
        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
        environment.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
        self._values: dict[str, Any] = {"bos_token": bos, "eos_token": eos, "tools": None}
        self._has_system = True
        try:
            self._template = environment.from_string(_FOR_TRAINING.sub("", source))
            self._has_system = self._keeps_system()
            self.parts([Message(role, "x") for role in ("system", "user", "assistant", "user")])
        except _UNUSABLE as error:
            raise _cannot_use(error) from error

    def _keeps_system(self) -> bool:
        """Whether the template has a place for a system message; some refuse or drop it."""
        try:
            return _MARK.format(0) in self._fill([Message("system", "s"), Message("user", "u")])
        except _UNUSABLE:
            return False

    def _fill(self, messages: Sequence[Message], thinking: bool = False) -> str:
        shown = [{"role": m.role, "content": _MARK.format(i)} for i, m in enumerate(messages)]
        switches = dict.fromkeys(_SWITCHES, thinking)
        return self._template.render(messages=shown, add_generation_prompt=True, **switches, **self._values)

    def parts(self, messages: Sequence[Message], thinking: bool = False) -> list[str | Message]:
        """The prompt for an answer to `messages`: template text and messages in turn.

        The first message is the system's; it joins the user's first where the template has no place for it.
        The last part is template text. Without `thinking` it leaves no thought open: a model that only thinks
        aloud is made to answer at once.

        Raises:
            ModelIncompatibleError: the template fails on this conversation.
        """
        messages = list(messages)
        if not self._has_system and len(messages) > 1 and messages[0].role == "system":
            first = messages[1]
            messages = [Message("user", f"{messages[0].text}\n\n{first.text}", note=first.note), *messages[2:]]
        try:
            rendered = self._fill(messages, thinking)
        except _UNUSABLE as error:
            raise _cannot_use(error) from error
        parts: list[str | Message] = []
        at = 0
        for mark in _MARKS.finditer(rendered):
            message = messages[int(mark[1])]
            between = rendered[at : mark.start()]
            parts.append(message.opening if message.opening.startswith(between) else between)
            parts.append(message)
            at = mark.end()
        last = rendered[at:]
        thought = open_thought(last)
        parts.append(f"{last}\n</{thought[1:]}\n\n" if thought and not thinking else last)
        return [part for part in parts if part != ""]


def open_thought(opening: str) -> str:
    """The tag at its end that opens a thought; "" for none."""
    found = _OPEN_THOUGHT.search(opening)
    return f"<{found[1]}>" if found else ""


def _cannot_use(error: BaseException) -> ModelIncompatibleError:
    reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
    return ModelIncompatibleError("The model's chat template cannot be used ({reason}).", reason=reason)


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)
