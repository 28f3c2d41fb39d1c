"""Holds the twenty scripted dialogues with a model and judges what it says by the committed patterns.

Usage: python tools/speech_dialogues.py [--model NAME|GGUF] [--seed N] [--kind memory] [--persona FILE] [--data FILE]
    [--json FILE]
Greedy unless a seed is given: then with the settings' own sampler. Prints what was said and a table.
"""

import argparse
import contextlib
import dataclasses
import json
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from kazeia_desktop.llm.chat_session import LlamaChatSession  # noqa: E402
from kazeia_desktop.models.catalog import Catalog  # noqa: E402
from kazeia_desktop.models.store import ModelStore  # noqa: E402
from kazeia_desktop.paths import Paths  # noqa: E402
from kazeia_desktop.pipeline.errands import Errands  # noqa: E402
from kazeia_desktop.settings.schema import LlmSettings, Settings  # noqa: E402
from tests.golden.speech_judge import DATA, load  # noqa: E402
from tests.golden.speech_talk import Said, talk  # noqa: E402


def main() -> int:
    """Exit code 1 when fewer than 14 in 20 hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--seed", type=int, help="sample with the settings' own values; default: greedy")
    parser.add_argument("--kind", help="only dialogues of this kind")
    parser.add_argument("--persona", type=Path, help="a file with another system prompt")
    parser.add_argument("--data", type=Path, default=DATA, help="other dialogues of the same form")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write everything that was said")
    options = parser.parse_args()
    sampler = {"temperature": 0.0} if options.seed is None else {"seed": options.seed}
    persona = options.persona.read_text(encoding="utf-8") if options.persona else ""
    llm = LlmSettings.model_validate({"threads": options.threads, "persona": persona, **sampler})
    settings = Settings(llm=llm)
    file = ModelStore(Paths.from_environment().models_dir, Catalog.load()).require_weights(options.model)
    common, dialogues = load(options.data)
    dialogues = [one for one in dialogues if options.kind in (None, one.kind)]
    told: list[tuple[str, str, list[Said]]] = []
    with contextlib.closing(LlamaChatSession(file, llm)) as session:
        for dialogue in dialogues:
            with contextlib.closing(Errands(None, settings)) as errands:
                said = talk(dialogue, session, errands, common)
            told.append((dialogue.kind, dialogue.name, said))
            for one in said:
                mark = f"    <-- {'; '.join(one.faults)}" if one.faults else ""
                sys.stdout.write(f"> {one.user}\n  {one.answer!r}{' (tool)' if one.by_tool else ''}{mark}\n")
            sys.stdout.write("\n")
            sys.stdout.flush()
    held = sum(not any(one.faults for one in said) for _, _, said in told)
    for kind, name, said in told:
        wrong = [f"{at}: {'; '.join(one.faults)}" for at, one in enumerate(said, 1) if one.faults]
        sys.stdout.write(f"{'-- ' if wrong else 'ok '} {kind:<13}{name}{'  ' if wrong else ''}{' | '.join(wrong)}\n")
    turns = [one for _, _, said in told for one in said]
    sys.stdout.write(
        f"{held} of {len(told)} dialogues hold; {sum(not one.faults for one in turns)} of {len(turns)} answers; "
        f"{sum(one.seconds for one in turns):.0f} s\n"
    )
    if options.json:
        figures = {
            "held": held,
            "of": len(told),
            "dialogues": [
                {"kind": kind, "name": name, "turns": [dataclasses.asdict(one) for one in said]}
                for kind, name, said in told
            ],
        }
        options.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0 if held * 20 >= len(told) * 14 else 1


if __name__ == "__main__":
    sys.exit(main())
