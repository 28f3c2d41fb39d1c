"""`kazeia ask`: one whole spoken turn from a file, in real time, with the time of each stage."""

import argparse
import sys
from pathlib import Path
from typing import Final

from kazeia_desktop.cli.output import (
    EVENTS_KEPT,
    Subparsers,
    check_place,
    emitter,
    load_settings,
    print_json,
    print_text,
)
from kazeia_desktop.errors import AudioFormatError, InferenceError, KazeiaError
from kazeia_desktop.events import Event, Failed, LoadProgress, Notice, State, StateChanged, TurnEnded, UserText
from kazeia_desktop.runtime.channel import Channel
from kazeia_desktop.translations import system_language, translate

MAX_QUESTION_S: Final = 60.0
_SILENCE_AFTER_S: Final = 4.0  # longer than the longest hangover, so that the endpoint is always reached
_LONGEST_TURN_S: Final = 600.0


def register(commands: Subparsers) -> None:
    """Add `ask`."""
    parser = commands.add_parser(
        "ask",
        help="ask a question from a WAV file, hear the reply",
        description="One whole spoken turn: the WAV is heard in real time as if through a microphone.",
    )
    parser.add_argument("wav", type=Path, metavar="WAV", help="the spoken question, at most 60 s")
    parser.add_argument("-o", "--output", type=Path, metavar="REPLY.wav", help="write the spoken reply here")
    parser.add_argument("--voice", help="voice of the reply")
    parser.add_argument("--language", choices=("fr", "en"), help="language spoken and answered")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Build the conversation around the file and wait for the end of its turn."""
    from kazeia_desktop.audio.wav import read_wav, wav_info
    from kazeia_desktop.audio.wav_sink import WavSink
    from kazeia_desktop.audio.wav_source import WavSource
    from kazeia_desktop.pipeline.builder import build
    from kazeia_desktop.settings.store import with_value

    seconds = wav_info(options.wav).duration_s
    if seconds > MAX_QUESTION_S:
        raise AudioFormatError(
            "{path} lasts {seconds:.0f} s and a question at most {limit:.0f} s: cut it, or use `kazeia transcribe`.",
            path=str(options.wav),
            seconds=seconds,
            limit=MAX_QUESTION_S,
        )
    if options.output is not None:
        check_place(options.output)
    samples, rate_hz = read_wav(options.wav)
    paths, settings = load_settings()
    if options.voice:
        settings = with_value(settings, "tts.voice", options.voice)
    if options.language:
        for key in ("stt.language", "llm.language", "tts.language"):
            settings = with_value(settings, key, options.language)

    events: Channel[Event] = Channel(EVENTS_KEPT)
    source = WavSource(samples, rate_hz, realtime=True, trailing_silence_s=_SILENCE_AFTER_S)
    sink = WavSink(options.output)
    conversation = build(settings, paths, emitter(events), source, sink)
    try:
        conversation.start()
        said, end = _wait(events, options.wav)
        played_s = sink.seconds
        voice = conversation.voice_name
    finally:
        conversation.close()
    record = {
        "transcript": said.text,
        "language": said.language,
        "reply": end.reply,
        "audio_seconds": round(played_s, 3),
        "voice": voice,
        "output": str(options.output) if options.output else None,
        "metrics": dict(end.metrics),
    }
    if options.json:
        print_json(record)
    else:
        _print(record, end)
    return 0


def _wait(events: Channel[Event], path: Path) -> tuple[UserText, TurnEnded]:
    """The words and the end of the first turn that is answered."""
    said: UserText | None = None
    failure: KazeiaError | None = None
    while True:
        try:
            event = events.get(timeout_s=_LONGEST_TURN_S)
        except TimeoutError:
            raise InferenceError("No reply came within {seconds:.0f} s.", seconds=_LONGEST_TURN_S) from None
        match event:
            case LoadProgress(part, _):
                sys.stderr.write(f"  … {part}\n")
            case Notice(template, values):
                sys.stderr.write(translate(template, system_language(), **values) + "\n")
            case Failed(template, values, _, _):
                failure = InferenceError(template, **values)
                sys.stderr.write(translate(template, system_language(), **values) + "\n")
            case UserText():
                said = event
            case StateChanged(State.IDLE):  # the file is at its end and no turn is under way
                raise AudioFormatError("No speech was found in {path}.", path=str(path))
            case TurnEnded(_, _, "done") if said is not None:
                return said, event
            case TurnEnded(_, _, "error"):
                raise failure or InferenceError("The reply failed.")
            case TurnEnded(_, _, "nothing" | "echo"):
                raise AudioFormatError("No words were understood in {path}.", path=str(path))
            case _:
                pass


_STAGES: Final = {
    "endpoint_ms": "end of speech noticed",
    "stt_ms": "speech recognised in",
    "llm_ttft_ms": "first token after",
    "first_clause_ms": "first clause after",
    "tts_ttfa_ms": "first sound of the clause after",
    "first_audio_ms": "first sound after the end of speech",
    "total_ms": "whole reply after the end of speech",
}


def _print(record: dict[str, object], end: TurnEnded) -> None:
    language = system_language()
    print_text(f"{translate('You', language)}: {record['transcript']}")
    print_text(f"Kazeia: {record['reply']}")
    for name, label in _STAGES.items():
        value = end.metrics.get(name)
        print_text(f"  {translate(label, language):<48} {'-' if value is None else f'{value:8.0f} ms'}")
    if record["output"]:
        wrote = translate(
            "The reply ({seconds} s, {voice}) is in {path}",
            language,
            seconds=record["audio_seconds"],
            voice=record["voice"],
            path=record["output"],
        )
        print_text(wrote)
