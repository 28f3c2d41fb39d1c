"""`kazeia devices`: microphones, loudspeakers, and what can compute."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.settings.store import with_value
from kazeia_desktop.translations import system_language, translate

if TYPE_CHECKING:
    from kazeia_desktop.cli.compute import Compute


def register(commands: Subparsers) -> None:
    """Add `devices`."""
    parser = commands.add_parser(
        "devices",
        help="audio and compute devices",
        description="Microphones, loudspeakers and compute devices. A compute device is used for the language model "
        "only after --check has found that it computes that model as the CPU does.",
    )
    parser.add_argument("--check", metavar="DEVICE", help="check a compute device with the language model")
    parser.add_argument("--model", metavar="NAME|PATH", help="default: the setting llm.model")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List them, or check one; no audio device is not an error."""
    from kazeia_desktop.cli.compute import Compute

    paths, settings = load_settings()
    if options.model:
        settings = with_value(settings, "llm.model", options.model)
    if options.check:
        return _check(Compute(paths, settings), options.check, options.json)
    groups = _audio()
    compute = Compute(paths, settings)
    if options.json:
        print_json({**groups, "compute": [compute.record(device) for device in compute.devices]})
        _warn(compute)
        return 0
    language = system_language()
    for title, found in zip(
        (translate("Microphones", language), translate("Loudspeakers", language)), groups.values(), strict=True
    ):
        print_text(title)
        for device in found:
            print_text(f"  {'*' if device['default'] else ' '} {device['name']}  {device['host_api']}")
        if not found:
            print_text(f"    {translate('none', language)}")
    print_text(translate("Compute devices", language))
    for one in compute.devices:
        size = f"  {one.memory_total_bytes / 1e9:.1f} GB" if one.memory_total_bytes else ""
        print_text(f"    {one.name}  {one.description}{size}")
        if told := compute.told(one):
            print_text(f"      {told}")
    if not compute.devices:
        print_text(f"    {translate('none', language)}")
    _warn(compute)
    return 0


def _audio() -> dict[str, list[dict[str, object]]]:
    from kazeia_desktop.audio.devices import AudioDevice, list_inputs, list_outputs

    def record(device: AudioDevice) -> dict[str, object]:
        return {
            "name": device.name,
            "index": device.index,
            "host_api": device.host_api,
            "channels": device.channels,
            "default_rate_hz": device.default_rate_hz,
            "default": device.is_default,
        }

    return {
        "inputs": [record(device) for device in list_inputs()],
        "outputs": [record(device) for device in list_outputs()],
    }


def _check(compute: "Compute", name: str, as_json: bool) -> int:
    record = compute.check(name)
    if as_json:
        print_json(record)
    else:
        device = compute.find(name)
        print_text(f"{device.name}  {device.description}")
        print_text(f"  {compute.told(device) or translate('the processor itself', system_language())}")
        for line in _check_lines(record):
            print_text(f"  {line}")
    _warn(compute)
    return 1 if record["state"] == "failed" else 0


def _check_lines(record: Mapping[str, Any]) -> Iterator[str]:
    """What was compared, and where the work ran; the processor itself is compared with nothing."""
    language = system_language()
    if record.get("cosine") is not None:
        yield translate(
            "logits beside the processor's: cosine {cosine:.5f}, the same likeliest token {share:.0%}",
            language,
            cosine=record["cosine"],
            share=record["same_top"],
        )
    for name, done in record["work"].items():
        yield translate("checked on {name}: {n} steps of the computation", language, name=name, n=done["nodes"])
    for name, done in record["timed_work"].items():
        yield translate("timed on {name}: {ms} ms", language, name=name, ms=round(done["ms"]))


def _warn(compute: "Compute") -> None:
    for told in compute.warnings():
        sys.stderr.write(f"kazeia: {told}\n")
