"""Writes the 26 open French clips as 16 kHz WAV files with a manifest of their texts.

    python tools/open_clips.py OUT_DIR

Needs Debian's asterisk-core-sounds-fr (texts), asterisk-core-sounds-fr-g722 (speech, CC BY-SA 3.0) and ffmpeg.
The manifest has the form [{"file", "text", "lang", "group"}].
"""

import gzip
import json
import subprocess
import sys
from pathlib import Path

SOUNDS = Path("/usr/share/asterisk/sounds/fr_CA_f_June")
TEXTS = Path("/usr/share/doc/asterisk-core-sounds-fr/core-sounds-fr.txt.gz")
CLIPS = (
    "conf-onlyone conf-usermenu confbridge-mute-extended demo-abouttotry demo-congrats demo-echodone demo-echotest "
    "demo-nogo demo-thanks followme/sorry followme/status priv-introsaved privacy-prompt queue-periodic-announce "
    "something-terribly-wrong ss-noservice tt-allbusy tt-weasels vm-intro vm-mailboxfull vm-marked-urgent vm-newuser "
    "vm-nonumber vm-rec-busy vm-savefolder vm-sorry"
).split(" ")  # fmt: skip


def write_clips(folder: Path) -> list[dict[str, str]]:
    """Decode the clips into `folder`; returns the manifest, which is also written there."""
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
        subprocess.run(command, check=True)
        manifest.append({"file": wav.name, "text": texts[name], "lang": "fr", "group": "asterisk fr"})
    (folder / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False, indent=1), "utf-8")
    return manifest


if __name__ == "__main__":
    write_clips(Path(sys.argv[1]))
