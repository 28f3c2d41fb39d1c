"""`kazeia devices`: microphones, loudspeakers, and what can compute."""

import argparse

from kazeia_desktop.cli.output import Subparsers, print_json, print_text
from kazeia_desktop.translations import system_language, translate


def register(commands: Subparsers) -> None:
    """Add `devices`."""
    parser = commands.add_parser(
        "devices", help="audio and compute devices", description="Microphones, loudspeakers and compute devices."
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List them; no audio device is not an error."""
    from kazeia_desktop._native import llama_build
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

    groups: dict[str, list[dict[str, object]]] = {
        "inputs": [record(device) for device in list_inputs()],
        "outputs": [record(device) for device in list_outputs()],
        "compute": [dict(device) for device in llama_build()["devices"]],
    }
    if options.json:
        print_json(groups)
        return 0
    language = system_language()
    titles = {
        "inputs": translate("Microphones", language),
        "outputs": translate("Loudspeakers", language),
        "compute": translate("Compute devices", language),
    }
    for group, found in groups.items():
        print_text(titles[group])
        for device in found:
            mark = "*" if device.get("default") else " "
            print_text(f"  {mark} {device['name']}  {device.get('host_api') or device.get('description')}")
        if not found:
            print_text(f"    {translate('none', language)}")
    return 0
