"""Templates of other models, and what a person types that looks like one."""

import pytest

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.chat_template import ChatTemplate

pytestmark = pytest.mark.unit

_CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_REFUSES_SYSTEM = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate') }}{% endif %}<{{ m.role }}>{{ m.content | trim }}</s>{% endfor %}"
)
_DROPS_SYSTEM = "{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endfor %}"
_TALK = [
    Message("system", "Sois bref."),
    Message("user", "Un ?"),
    Message("assistant", "Deux."),
    Message("user", "Et ?"),
]


def text(parts: list[str | Message]) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in parts)


def test_a_conversation_is_rendered_as_the_template_says() -> None:
    parts = ChatTemplate(_CHATML, "", "").parts(_TALK)
    assert text(parts) == (
        "<|im_start|>system\nSois bref.<|im_end|>\n<|im_start|>user\nUn ?<|im_end|>\n"
        "<|im_start|>assistant\nDeux.<|im_end|>\n<|im_start|>user\nEt ?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert [part for part in parts if isinstance(part, Message)] == _TALK


@pytest.mark.parametrize("source", [_REFUSES_SYSTEM, _DROPS_SYSTEM])
def test_without_a_place_for_it_the_system_text_leads_the_first_message(source: str) -> None:
    parts = ChatTemplate(source, "<s>", "</s>").parts(_TALK)
    messages = [part for part in parts if isinstance(part, Message)]
    assert messages == [Message("user", "Sois bref.\n\nUn ?"), *_TALK[2:]]


def test_bos_of_the_model_is_what_the_template_writes() -> None:
    assert text(ChatTemplate(_REFUSES_SYSTEM, "<s>", "</s>").parts(_TALK)).startswith("<s><user>Sois bref.")


@pytest.mark.parametrize(
    "typed",
    ["<|im_end|>", "{{ bos_token }}", "{% raise %}", "\ue0001\ue001", "\ue0000\ue001", "", "\x00", "<|im_start|>"],
)
def test_what_a_person_types_stays_one_part(typed: str) -> None:
    talk = [Message("system", "s"), Message("user", typed)]
    parts = ChatTemplate(_CHATML, "", "").parts(talk)
    assert [part for part in parts if isinstance(part, Message)] == talk
    assert [part for part in parts if isinstance(part, str)] == [
        "<|im_start|>system\n",
        "<|im_end|>\n<|im_start|>user\n",
        "<|im_end|>\n<|im_start|>assistant\n",
    ]


@pytest.mark.parametrize(
    "source",
    [
        None,
        "",
        "{% for",
        "{{ raise_exception('never') }}",
        "{{ messages[0].content.nothing.more }}",
        "{{ 1 / 0 }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ undefined() }}",
        "{{ messages['x' * 3]() }}",
        "{% include 'other' %}",
        "{{ [1] | sort('x', 1, 2, 3) }}",
        "{{ [][3].x }}",
        "{% for m in messages if m.role == 'assistant' %}{{ raise_exception('later') }}{% endfor %}",
    ],
)
def test_a_template_that_cannot_be_used_is_told_in_one_line(source: str | None) -> None:
    with pytest.raises(ModelIncompatibleError) as caught:
        ChatTemplate(source, "", "")
    assert "\n" not in str(caught.value)


def test_extras_of_published_templates_work() -> None:
    source = (
        "{% for m in messages %}{% if loop.index0 > 50 %}{% break %}{% endif %}{{ m.content }}{% endfor %}"
        "{{ {'é': tools} | tojson(indent=2) }}{{ strftime_now('%Y') | length }}{{ enable_thinking }}"
    )
    assert text(ChatTemplate(source, "", "").parts([Message("user", "x")])) == 'x{"é": null}4False'


_EMPTY_THOUGHT = (  # as Qwen3: an empty thought before a new answer, nothing before an old one
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)


def test_an_old_answer_keeps_what_the_model_read_before_it() -> None:
    template = ChatTemplate(_EMPTY_THOUGHT, "", "")
    asked = template.parts(_TALK[:2])
    opening = asked[-1]
    assert opening == "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    old = Message("assistant", "Deux.", opening=opening)
    again = text(template.parts([*_TALK[:2], old, _TALK[3]]))
    assert again.startswith(text(asked) + "Deux."), "the beginning stays, so that it need not be read again"
    assert "</think>" not in text(template.parts(_TALK[:3])).removesuffix(opening)


def test_an_opening_of_another_template_is_not_used() -> None:
    template = ChatTemplate(_CHATML, "", "")
    old = Message("assistant", "Deux.", opening="<|other|>")
    assert text(template.parts([*_TALK[:2], old, _TALK[3]])) == text(template.parts(_TALK))


def test_a_thought_that_the_template_opens_is_closed() -> None:
    source = _CHATML.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")
    assert text(ChatTemplate(source, "", "").parts(_TALK[:2])).endswith("assistant\n<think>\n\n</think>\n\n")


def test_marks_for_training_are_no_hindrance() -> None:
    source = _CHATML.replace("{{ m.content }}", "{% generation %}{{ m.content }}{%- endgeneration -%}")
    assert text(ChatTemplate(source, "", "").parts(_TALK)) == text(ChatTemplate(_CHATML, "", "").parts(_TALK))


@pytest.mark.parametrize("source", ["{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{{ range(10 ** 9) | list }}"])
def test_a_template_that_would_run_away_is_told(source: str) -> None:
    with pytest.raises(ModelIncompatibleError):
        ChatTemplate(source, "", "")
