"""Channels hold order, bounds and ends."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.runtime.channel import Channel, ChannelClosed

pytestmark = pytest.mark.unit


@given(st.lists(st.integers()), st.integers(1, 5))
def test_everything_arrives_in_order_through_any_capacity(items: list[int], capacity: int) -> None:
    channel: Channel[int] = Channel(capacity)

    def write() -> None:
        for item in items:
            channel.put(item)
        channel.close()

    writer = threading.Thread(target=write)
    writer.start()
    assert list(channel) == items
    writer.join()


def test_a_full_channel_holds_the_writer_back() -> None:
    channel: Channel[int] = Channel(1)
    channel.put(1)
    with pytest.raises(TimeoutError):
        channel.put(2, timeout_s=0.0)
    assert channel.get() == 1
    channel.put(2, timeout_s=0.0)


def test_an_empty_channel_times_out() -> None:
    with pytest.raises(TimeoutError):
        Channel[int](1).get(timeout_s=0.0)


def test_closing_hands_out_what_is_left_and_refuses_more() -> None:
    channel: Channel[int] = Channel(2)
    channel.put(1)
    channel.close()
    channel.close()
    with pytest.raises(ChannelClosed):
        channel.put(2)
    assert channel.get() == 1
    with pytest.raises(ChannelClosed):
        channel.get()


@pytest.mark.parametrize("full", [True, False])
def test_closing_wakes_whoever_waits(full: bool) -> None:
    channel: Channel[int] = Channel(1)
    raised: list[type[BaseException]] = []
    if full:
        channel.put(0)

    def wait() -> None:
        try:
            channel.put(1) if full else channel.get()
        except ChannelClosed as error:
            raised.append(type(error))

    waiting = threading.Thread(target=wait)
    waiting.start()
    channel.close()
    waiting.join(5)
    assert raised == [ChannelClosed]


def test_drain_makes_room() -> None:
    channel: Channel[int] = Channel(2)
    channel.put(1)
    channel.put(2)
    assert channel.drain() == [1, 2]
    assert len(channel) == 0
    channel.put(3, timeout_s=0.0)


def test_a_capacity_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="not 0"):
        Channel(0)


def test_takes_the_oldest_only_if_it_fits() -> None:
    channel: Channel[int] = Channel(2)
    assert channel.take_if(lambda item: True) is None
    channel.put(1)
    channel.put(2)
    assert channel.take_if(lambda item: item == 2) is None
    assert channel.take_if(lambda item: item == 1) == 1
    channel.put(3, 0.0)  # there is room again
    channel.close()
    assert channel.take_if(lambda item: True) == 2
    assert list(channel) == [3]
