# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames in portions, cut wherever the network cuts them."""

from __future__ import annotations

import random
import struct

import pytest
from bl_ext.user_default.mcp_bridge.server.transport import frames
from bl_ext.user_default.mcp_bridge.server.transport.frames import (
    CloseFrame,
    FrameError,
    FrameReader,
    MessageEnd,
    Opcode,
    Ping,
)
from bl_ext.user_default.mcp_bridge.server.transport.shares import FREE_BYTES, Held
from websockets.frames import Frame
from websockets.frames import Opcode as ForeignOpcode
from websockets.protocol import Protocol as Foreign
from websockets.protocol import Side

LARGEST = 1 << 20


def masked(opcode: int, payload: bytes = b"", *, final: bool = True) -> bytes:
    """A client's frame as the library websockets writes it, with a random mask."""
    return bytes(Frame(ForeignOpcode(opcode), payload, final).serialize(mask=True))


def reader(held: Held | None = None) -> FrameReader:
    return FrameReader(LARGEST, (held or Held(1 << 30)).message)


def read_all(found: FrameReader) -> list[object]:
    events: list[object] = []
    while found.more:
        for event in found.read():
            events.append((event.opcode, bytes(event.data)) if isinstance(event, MessageEnd) else event)
    return events


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 125, 126, 127, 65535, 65536, 300_001])
def test_frames_of_a_client_are_read(size: int) -> None:
    payload = random.Random(size).randbytes(size)
    found = reader()
    found.feed(masked(1, payload) + masked(2, payload[:9]))
    assert read_all(found) == [(Opcode.TEXT, payload), (Opcode.BINARY, payload[:9])]


def test_wherever_it_is_cut_it_is_the_same() -> None:
    chance = random.Random(7)
    payload = chance.randbytes(70_003)
    sent = (
        masked(1, payload[:1000], final=False)
        + masked(9, b"are you there")
        + masked(0, b"", final=False)
        + masked(0, payload[1000:], final=True)
        + masked(10, b"unasked")
        + masked(2, b"after it")
        + masked(8, struct.pack("!H", 1000) + b"bye")
    )
    expected = [
        Ping(b"are you there"),
        (Opcode.TEXT, payload),
        (Opcode.BINARY, b"after it"),
        CloseFrame(1000),
    ]
    for _ in range(100):
        found, events, at = reader(), [], 0
        while at < len(sent):
            size = chance.choice([1, 2, 3, 7, 100, 5000, 66_000])
            found.feed(sent[at : at + size])
            events += read_all(found)
            at += size
        assert events == expected


def test_a_portion_has_few_frames_however_many_come_at_once() -> None:
    found = reader()
    found.feed(masked(1, b"a", final=False) + masked(0, final=False) * 10_000 + masked(0, b"b"))
    portions, events = 0, []
    while found.more:
        events += found.read()
        portions += 1
    assert [bytes(event.data) for event in events] == [b"ab"]
    assert portions == -(-10_002 // frames.FRAMES_AT_ONCE)


def test_a_portion_has_few_messages() -> None:
    found = reader()
    found.feed(masked(1, b"{}") * 10)
    sizes = []
    while found.more:
        sizes.append(len(found.read()))
    assert sizes == [4, 4, 2]


@pytest.mark.parametrize(
    ("sent", "code", "says"),
    [
        (b"\xc1\x80\0\0\0\0", 1002, "reserved bits"),
        (b"\x81\x01a", 1002, "have to be masked"),
        (b"\x83\x80\0\0\0\0", 1002, "no opcode 3"),
        (masked(0, b"a"), 1002, "expected the beginning of a message"),
        (masked(1, b"a", final=False) + masked(1, b"b"), 1002, "expected a continuation"),
        (b"\x09\x80\0\0\0\0", 1002, "control frame is fragmented"),
        (b"\x89\xfe\x00\x7e\0\0\0\0" + bytes(126), 1002, "or too long"),
        (masked(8, b"\x03"), 1002, "no valid code"),
        (masked(8, struct.pack("!H", 1005)), 1002, "no valid code"),
        (masked(8, struct.pack("!H", 1000) + b"\xff"), 1007, "no UTF-8"),
        (b"\x81\xff" + struct.pack("!Q", LARGEST + 1) + b"\0\0\0\0", 1009, "larger than 1048576 bytes"),
        (b"\x81\xff" + b"\xff" * 8 + b"\0\0\0\0", 1009, "larger than 1048576 bytes"),
        (masked(1, b"x" * LARGEST, final=False) + masked(0, b"x"), 1009, "larger than 1048576 bytes"),
    ],
    ids=range(13),  # a mask is random: pytest's own names would differ from one process to the next
)
def test_what_breaks_the_protocol_is_named_as_in_the_library(sent: bytes, code: int, says: str) -> None:
    found = reader()
    found.feed(sent)
    with pytest.raises(FrameError, match=says) as broken:
        read_all(found)
    assert broken.value.code == code
    foreign = Foreign(Side.SERVER, max_size=LARGEST)
    foreign.receive_data(sent)
    assert foreign.close_sent is not None
    assert foreign.close_sent.code == code


def test_what_came_before_a_broken_frame_counts() -> None:
    found = reader()
    found.feed(masked(1, b"good") + b"\x83\x80\0\0\0\0")
    assert [bytes(event.data) for event in found.read()] == [b"good"]
    assert found.more
    with pytest.raises(FrameError, match="no opcode 3"):
        found.read()


def test_half_messages_of_all_connections_share_one_store_and_leave_nothing() -> None:
    held = Held(4 * FREE_BYTES)
    first, second, third = (reader(held) for _ in range(3))
    for each in (first, second):
        each.feed(masked(1, bytes(3 * FREE_BYTES), final=False))
        each.read()
    assert held.taken == held.most
    assert first.half is not None
    third.feed(masked(1, bytes(2 * FREE_BYTES), final=False))
    with pytest.raises(FrameError, match="half received by all clients together") as spent:
        third.read()
    assert spent.value.code == 1013
    third.discard()
    third = reader(held)
    third.feed(masked(1, b"small"))
    [small] = third.read()
    small.account.close()
    first.discard()
    second.feed(masked(0, b"the end"))
    [whole] = second.read()
    assert len(whole.data) == 3 * FREE_BYTES + 7
    assert held.taken == 2 * FREE_BYTES + 7
    whole.account.close()
    assert held.taken == 0
    assert second.half is None


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536])
def test_what_the_server_writes_a_client_reads(size: int) -> None:
    client = Foreign(Side.CLIENT, max_size=None)
    client.receive_data(frames.frame(Opcode.TEXT, b"x" * size))
    [event] = client.events_received()
    assert (event.opcode, event.data, event.fin) == (1, b"x" * size, True)
