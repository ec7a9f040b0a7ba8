# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads and writes WebSocket frames for a server (RFC 6455, section 5), without extensions. No sockets.

`read` works in portions with a limited number of frames, which take a limited time; the caller decides when to
continue. Each payload is unmasked directly into its message, so that a large message is in memory only once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

import numpy as np

from .shares import FREE_BYTES

__all__ = ("CloseFrame", "FrameError", "FrameReader", "MessageEnd", "Opcode", "Ping", "frame", "head")

#: The most frames, or messages, of one portion.
FRAMES_AT_ONCE = 64
MESSAGES_AT_ONCE = 4

_LONGEST_CONTROL = 125


class Opcode(IntEnum):
    """The opcodes of RFC 6455, 5.2."""

    CONTINUATION = 0x0
    TEXT = 0x1
    BINARY = 0x2
    CLOSE = 0x8
    PING = 0x9
    PONG = 0xA


#: By number: a look-up takes a fifth of the time of `Opcode(number)`.
_OPCODES = {int(opcode): opcode for opcode in Opcode}
#: Length codes that announce a longer length field after them.
_LONGER = {126: struct.Struct("!H"), 127: struct.Struct("!Q")}
#: The allowed codes of a close frame below 3000 (RFC 6455, 7.4; IANA's registry).
_CLOSE_CODES = frozenset({1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014})


class FrameError(Exception):
    """Tells that a frame breaks the protocol, so that the connection must be closed with `code` (RFC 6455, 7.4.1)."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Account(Protocol):
    """The bytes that a message uses of the shared limit; `shares.Message` implements it."""

    def grow(self, size: int) -> bool: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """A whole message. The code that takes it closes its account."""

    opcode: Opcode
    data: bytearray
    account: Account


@dataclass(slots=True)
class _Frame:
    """A frame whose payload still misses `left` bytes; `mask` is rotated to fit those."""

    opcode: Opcode
    final: bool
    left: int
    mask: bytes
    control: bytearray = field(default_factory=bytearray)


@dataclass(frozen=True, slots=True)
class Ping:
    """A ping of the client. Answer it with a pong of the same payload; of several pings, only the last one (5.5.3)."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class CloseFrame:
    """The client's close frame; `code` is None if it sent none."""

    code: int | None


def frame(opcode: Opcode, payload: bytes) -> bytes:
    """Return the bytes of a whole frame from a server."""
    return head(opcode, len(payload)) + payload


def head(opcode: Opcode, length: int) -> bytes:
    """Return the bytes before the payload of a whole frame from a server, by the payload's length in bytes."""
    if length < 126:
        return struct.pack("!BB", 0x80 | opcode, length)
    if length < 1 << 16:
        return struct.pack("!BBH", 0x80 | opcode, 126, length)
    return struct.pack("!BBQ", 0x80 | opcode, 127, length)


class FrameReader:
    """Reads the frames of one client.

    largest: the most bytes of a message.
    account: opens the account of a message for the limit that all connections share.
    """

    def __init__(self, largest: int, account: Callable[[], Account]) -> None:
        self._largest = largest
        self._open_account = account
        self._chunk = b""
        self._at = 0
        #: The current frame; None between frames.
        self._frame: _Frame | None = None
        #: The current message; None between messages.
        self._message: MessageEnd | None = None
        #: Whether `read` stopped at the end of a portion, and not because there were no more bytes.
        self.more = False
        self._error: FrameError | None = None

    @property
    def half(self) -> MessageEnd | None:
        """The current message if it uses some of the shared limit, else None."""
        return self._message if self._message and len(self._message.data) > FREE_BYTES else None

    def feed(self, data: bytes) -> None:
        """Add bytes from the socket."""
        self._chunk = self._chunk[self._at :] + data
        self._at = 0
        self.more = True

    def read(self) -> list[MessageEnd | Ping | CloseFrame]:
        """Read a portion of the bytes. Raises FrameError; after that nothing more can be read."""
        if self._error:
            raise self._error
        found: list[MessageEnd | Ping | CloseFrame] = []
        try:
            self._read(found)
        except FrameError as error:
            if not found:
                raise
            self._error, self.more = error, True  # raised after the caller has read the messages before it
        return found

    def _read(self, found: list[MessageEnd | Ping | CloseFrame]) -> None:
        messages = 0
        for _ in range(FRAMES_AT_ONCE):
            if self._frame is None and self._at == len(self._chunk):
                self.more = False
                return
            self._frame = self._frame or self._head()
            if self._frame is None or not self._payload(self._frame):
                self.more = False
                return
            ended, self._frame = self._frame, None
            event = self._end(ended)
            if event is not None:
                found.append(event)
                messages += isinstance(event, MessageEnd)
            if isinstance(event, CloseFrame) or messages == MESSAGES_AT_ONCE:
                break
        self.more = self._at < len(self._chunk)

    def discard(self) -> None:
        """Drop all bytes and the current message, because the connection has ended."""
        self._chunk, self._at, self._frame, self.more = b"", 0, None, False
        if self._message:
            self._message.account.close()
            self._message = None

    def _head(self) -> _Frame | None:
        """Return the frame that starts here, or None if its head is not complete yet."""
        chunk, at = self._chunk, self._at
        if len(chunk) - at < 2:
            return None
        first, second = chunk[at], chunk[at + 1]
        if first & 0x70:
            raise FrameError(1002, "reserved bits are set")
        if not second & 0x80:
            raise FrameError(1002, "a client's frames have to be masked")
        opcode, final, length = _OPCODES.get(first & 0x0F), bool(first & 0x80), second & 0x7F
        if opcode is None:
            raise FrameError(1002, f"there is no opcode {first & 0x0F}")
        form = _LONGER.get(length)
        size = 6 + (form.size if form else 0)
        if len(chunk) - at < size:
            return None
        if form:
            (length,) = form.unpack_from(chunk, at + 2)
        self._require_in_order(opcode, final, length)
        self._at = at + size
        return _Frame(opcode, final, length, chunk[at + size - 4 : at + size])

    def _require_in_order(self, opcode: Opcode, final: bool, length: int) -> None:
        if opcode >= Opcode.CLOSE:
            if not final or length > _LONGEST_CONTROL:
                raise FrameError(1002, "a control frame is fragmented or too long")
            return
        if (opcode == Opcode.CONTINUATION) != (self._message is not None):
            expected = "a continuation" if self._message else "the beginning of a message"
            raise FrameError(1002, f"expected {expected}")
        if length + (len(self._message.data) if self._message else 0) > self._largest:
            raise FrameError(1009, f"the message is larger than {self._largest} bytes")

    def _payload(self, frame: _Frame) -> bool:
        """Add the available bytes of the frame's payload; returns whether the payload is complete."""
        if self._message is None and frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._message = MessageEnd(frame.opcode, bytearray(), self._open_account())
        size = min(frame.left, len(self._chunk) - self._at)
        if not size:
            return frame.left == 0
        begin, self._at = self._at, self._at + size
        if frame.opcode >= Opcode.CLOSE:
            target = frame.control
        else:
            assert self._message
            if not self._message.account.grow(size):
                raise FrameError(1013, "too much is half received by all clients together: try again later")
            target = self._message.data
        _append_unmasked(target, memoryview(self._chunk)[begin : self._at], frame.mask)
        frame.left -= size
        turned = size % 4
        frame.mask = frame.mask[turned:] + frame.mask[:turned]
        return frame.left == 0

    def _end(self, frame: _Frame) -> MessageEnd | Ping | CloseFrame | None:
        if frame.opcode == Opcode.PING:
            return Ping(bytes(frame.control))
        if frame.opcode == Opcode.PONG:
            return None
        if frame.opcode == Opcode.CLOSE:
            return _close(bytes(frame.control))
        if not frame.final:
            return None
        ended, self._message = self._message, None
        return ended


def _append_unmasked(target: bytearray, piece: memoryview, mask: bytes) -> None:
    """Copy a piece to the end of a message, and unmask it there: a large one is copied only once."""
    begin, size = len(target), len(piece)
    target += piece
    if mask == b"\0\0\0\0":
        return
    whole = size & ~3
    words = np.frombuffer(target, np.uint32, whole >> 2, begin)
    words ^= np.frombuffer(mask, np.uint32)[0]
    del words  # as long as it lives, the message cannot grow
    for index in range(whole, size):
        target[begin + index] ^= mask[index & 3]


def _close(payload: bytes) -> CloseFrame:
    if not payload:
        return CloseFrame(None)
    code = int.from_bytes(payload[:2], "big")
    if len(payload) < 2 or not (code in _CLOSE_CODES or 3000 <= code < 5000):
        raise FrameError(1002, "the close frame has no valid code")
    try:
        payload[2:].decode()
    except UnicodeDecodeError:
        raise FrameError(1007, "the reason of the close frame is no UTF-8") from None
    return CloseFrame(code)
