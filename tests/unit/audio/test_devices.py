"""Listing, naming and opening devices; half or full duplex."""

import pytest

from kazeia_desktop.audio import devices, portaudio
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.settings.schema import AudioSettings
from tests.unit.audio.fake_portaudio import FakePortAudio

pytestmark = pytest.mark.unit


def test_inputs_and_outputs_are_listed_apart(sound: FakePortAudio) -> None:
    sound.add("HDA Intel", inputs=2, outputs=2, rate_hz=44_100)
    sound.add("HDMI", outputs=8)
    assert devices.list_inputs() == (devices.AudioDevice("HDA Intel", 0, "ALSA", 2, 44_100, True),)
    assert [(d.name, d.channels, d.is_default) for d in devices.list_outputs()] == [
        ("HDA Intel", 2, True),
        ("HDMI", 8, False),
    ]


def test_without_devices_the_lists_are_empty(sound: FakePortAudio) -> None:
    assert devices.list_inputs() == devices.list_outputs() == ()
    with pytest.raises(AudioDeviceError, match="There is no microphone"):
        devices.find("input", "")
    with pytest.raises(AudioDeviceError, match="There is no loudspeaker"):
        devices.find("output", "anything")


def test_a_name_may_be_a_part_that_only_one_has(sound: FakePortAudio) -> None:
    sound.add("USB Headset", outputs=2)
    sound.add("USB Speaker", outputs=2)
    sound.add("USB", outputs=2)
    assert devices.find("output", "speaker").index == 1
    assert devices.find("output", "USB").index == 2  # an exact name wins over longer ones
    with pytest.raises(AudioDeviceError, match="Several devices are called 'usb'"):
        devices.find("output", "usb")
    with pytest.raises(AudioDeviceError, match="no audio device 'Jabra': give one of USB, USB Headset, USB Speaker"):
        devices.find("output", "Jabra")


def test_without_a_default_the_first_is_taken(sound: FakePortAudio) -> None:
    sound.add("only", inputs=1)
    sound.default["input"] = -1
    assert devices.find("input", "").name == "only"


def test_on_windows_each_device_is_listed_once_by_its_best_interface(sound: FakePortAudio) -> None:
    sound.host_apis = [
        {"name": "MME", "default_input_device": 0, "default_output_device": -1},
        {"name": "Windows WASAPI", "default_input_device": 2, "default_output_device": -1},
    ]
    sound.add("Microphone (Realtek High Defini", inputs=2, host_api=0)
    sound.add("Microphone (Webcam)", inputs=1, host_api=1)
    sound.add("Microphone (Realtek High Definition Audio)", inputs=2, host_api=1)
    assert [(d.index, d.is_default) for d in devices.list_inputs()] == [(1, False), (2, True)]


def test_a_device_is_opened_at_its_own_rate_when_it_refuses_ours(sound: FakePortAudio) -> None:
    sound.add("strict", inputs=4, rate_hz=44_100)
    sound.accepted_hz["strict"] = {44_100}
    opened = devices.open_stream("input", "", 16_000, 0.03, lambda rate_hz: lambda *words: None)
    assert opened.rate_hz == 44_100
    assert portaudio.n_open_streams() == 1
    assert not devices.refresh()  # it would end the stream
    portaudio.close(opened.stream, abort=True)
    assert devices.refresh()


def test_a_device_that_refuses_everything_is_one_line(sound: FakePortAudio) -> None:
    sound.add("busy", outputs=2)
    sound.accepted_hz["busy"] = set()
    with pytest.raises(AudioDeviceError, match=r"busy cannot be opened \(Invalid sample rate\)"):
        devices.open_stream("output", "", 24_000, 0.1, lambda rate_hz: lambda *words: None)
    assert portaudio.n_open_streams() == 0


def test_a_device_that_does_not_start_is_closed(sound: FakePortAudio) -> None:
    sound.add("busy", outputs=2)
    sound.refusing_to_start = {"busy"}
    opened = devices.open_stream("output", "", 24_000, 0.1, lambda rate_hz: lambda *words: None)
    with pytest.raises(AudioDeviceError, match="busy"):
        devices.start_stream("output", opened)
    assert sound.open_streams == []
    assert portaudio.n_open_streams() == 0


@pytest.mark.parametrize(
    ("descriptions", "expected"),
    [
        ((), "full"),
        (("Jabra Evolve 65 Headset",), "full"),
        (("Casque USB",), "full"),
        (("AirPods Pro de Léa",), "full"),
        (("Null Output",), "full"),
        (("Some USB thing",), "full"),
        (("Haut-parleurs (Realtek)",), "half"),
        (("HDMI 0",), "half"),
        (("Built-in Audio Analog Stereo",), "half"),
        (("analog-output-headphones", "Built-in Audio Analog Stereo"), "full"),
        (("[Out] Speaker", "sof-hda-dsp Speaker + Headphones"), "half"),
    ],
)
def test_a_loudspeaker_is_half_and_a_headset_full(descriptions: tuple[str, ...], expected: str) -> None:
    assert devices.duplex_of(descriptions) == expected


def test_the_setting_decides_where_it_is_not_auto(sound: FakePortAudio) -> None:
    sound.add("Speaker", outputs=2)
    assert devices.effective_duplex(AudioSettings()) == "half"
    assert devices.effective_duplex(AudioSettings(duplex="full")) == "full"
    assert devices.effective_duplex(AudioSettings(duplex="half")) == "half"


SINKS = """Sink #1
\tState: RUNNING
\tName: alsa_output.pci.hdmi
\tDescription: Radeon HDMI

Sink #2
\tState: SUSPENDED
\tName: alsa_output.pci.sof
\tDescription: sof-hda-dsp Speaker + Headphones
\tProperties:
\t\tdevice.form_factor = "internal"
\tPorts:
\t\t[Out] Speaker: Speaker (type: Speaker)
\tActive Port: [Out] Speaker
"""


def test_the_port_in_use_is_the_most_telling() -> None:
    told = devices.sink_descriptions(SINKS, "alsa_output.pci.sof")
    assert told == ("[Out] Speaker", '"internal"', "sof-hda-dsp Speaker + Headphones", "alsa_output.pci.sof")
    assert devices.sink_descriptions(SINKS, "alsa_output.pci") == ()
