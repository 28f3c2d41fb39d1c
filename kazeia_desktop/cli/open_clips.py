"""Open French speech to measure recognition on: 26 clips of 2-29 s with their texts.

From Debian's packages asterisk-core-sounds-fr (texts) and asterisk-core-sounds-fr-g722 (speech, CC BY-SA 3.0);
ffmpeg decodes them. `python -m kazeia_desktop.cli.open_clips DIR` writes them with a manifest.
"""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import AudioFormatError

SOUNDS: Final = Path("/usr/share/asterisk/sounds/fr_CA_f_June")
TEXTS: Final = Path("/usr/share/doc/asterisk-core-sounds-fr/core-sounds-fr.txt.gz")
CLIPS: Final = (  # noqa: SIM905 - a list is easier to read as lines
    "conf-onlyone conf-usermenu confbridge-mute-extended demo-abouttotry demo-congrats demo-echodone demo-echotest "
    "demo-nogo demo-thanks followme/sorry followme/status priv-introsaved privacy-prompt queue-periodic-announce "
    "something-terribly-wrong ss-noservice tt-allbusy tt-weasels vm-intro vm-mailboxfull vm-marked-urgent vm-newuser "
    "vm-nonumber vm-rec-busy vm-savefolder vm-sorry"
).split(" ")


def write_clips(folder: Path) -> list[dict[str, str]]:
    """Decode the clips into `folder`.

    Returns:
        [{"file", "text", "lang", "group"}], files relative to the folder; also written there as manifest.json.
    Raises:
        AudioFormatError: a package is not installed.
    """
    if not TEXTS.is_file() or not (SOUNDS / f"{CLIPS[0]}.g722").is_file():
        raise AudioFormatError(
            "The open clips are missing: install asterisk-core-sounds-fr, asterisk-core-sounds-fr-g722 and ffmpeg."
        )
    texts: dict[str, str] = {}
    with gzip.open(TEXTS, "rt", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            name, _, text = line.partition(":")
            texts[name.strip()] = text.strip()
    folder.mkdir(parents=True, exist_ok=True)
    manifest = []
    for name in CLIPS:
        wav = folder / f"{name.replace('/', '-')}.wav"
        source = SOUNDS / f"{name}.g722"
        command = ["ffmpeg", "-v", "error", "-y", "-f", "g722", "-i", str(source), "-ar", "16000", str(wav)]
        try:
            subprocess.run(command, check=True, timeout=60)
        except (OSError, subprocess.SubprocessError) as error:
            raise AudioFormatError(
                "The clip {file} cannot be decoded by ffmpeg ({reason}).", file=str(source), reason=type(error).__name__
            ) from None
        manifest.append({"file": wav.name, "text": texts[name], "lang": "fr", "group": "asterisk fr"})
    (folder / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False, indent=1), "utf-8")
    return manifest


if __name__ == "__main__":
    write_clips(Path(sys.argv[1]))
