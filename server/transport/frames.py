# SPDX-License-Identifier: GPL-3.0-or-later
"""WebSocket frames as a server reads and writes them (RFC 6455, section 5), without extensions. No sockets.

What was fed is read in portions: so many frames cost so much time, and whoever calls decides when it goes on. Payloads
are unmasked as they come, into the one message that is being received, so that a large one is in memory once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

import numpy as np

from .shares import FREE_BYTES

__all__ = ("CloseFrame", "FrameError", "FrameReader", "MessageEnd", "Opcode", "Ping", "frame")

#: A portion is so many frames, or the frames of so many messages.
FRAMES_AT_ONCE = 64
MESSAGES_AT_ONCE = 4

_LONGEST_CONTROL = 125


class Opcode(IntEnum):
    """RFC 6455, 5.2."""

    CONTINUATION = 0x0
    TEXT = 0x1
    BINARY = 0x2
    CLOSE = 0x8
    PING = 0x9
    PONG = 0xA


_KNOWN = frozenset(Opcode)
_BEGINS = frozenset({Opcode.TEXT, Opcode.BINARY})
#: Lengths that stand for a longer one behind them.
_LONGER = {126: struct.Struct("!H"), 127: struct.Struct("!Q")}
#: What a close frame may give as its code, besides those from 3000 on (RFC 6455, 7.4; IANA's registry).
_CLOSE_CODES = frozenset({1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014})


class FrameError(Exception):
    """The connection has to be closed: `code` is that of RFC 6455, 7.4.1."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Account(Protocol):
    """What a message holds of the common store; `shares.Message`."""

    def grow(self, size: int) -> bool: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """A whole message. Whoever has taken it closes its account."""

    opcode: Opcode
    data: bytearray
    account: Account


@dataclass(slots=True)
class _Frame:
    """A frame of whose payload `left` bytes are still to come; `mask` is turned so that it fits them."""

    opcode: Opcode
    final: bool
    left: int
    mask: bytes
    control: bytearray = field(default_factory=bytearray)


@dataclass(frozen=True, slots=True)
class Ping:
    """To be answered by a pong with the same payload; of several at once the last (5.5.3)."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class CloseFrame:
    """The client closes; `code` is None where it gave none."""

    code: int | None


def frame(opcode: Opcode, payload: bytes) -> bytes:
    """A whole frame of a server's."""
    length = len(payload)
    if length < 126:
        head = struct.pack("!BB", 0x80 | opcode, length)
    elif length < 1 << 16:
        head = struct.pack("!BBH", 0x80 | opcode, 126, length)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 127, length)
    return head + payload


class FrameReader:
    """What one client sends.

    largest: bytes that a message may have.
    account: opens the account of a message in the store that all connections share.
    """

    def __init__(self, largest: int, account: Callable[[], Account]) -> None:
        self._largest = largest
        self._open_account = account
        self._chunk = b""
        self._at = 0
        #: The frame that is being read; None between frames.
        self._frame: _Frame | None = None
        #: The message that is being received; None between messages.
        self._message: MessageEnd | None = None
        #: Whether `read` stopped at the end of a portion, and not for want of bytes.
        self.more = False
        self._error: FrameError | None = None

    @property
    def half(self) -> MessageEnd | None:
        """The message that is being received, once it holds something of the common store."""
        return self._message if self._message and len(self._message.data) > FREE_BYTES else None

    def feed(self, data: bytes) -> None:
        """Take what came from the socket."""
        self._chunk = self._chunk[self._at :] + data
        self._at = 0
        self.more = True

    def read(self) -> list[MessageEnd | Ping | CloseFrame]:
        """Read a portion of what was fed. Raises FrameError, after which nothing more can be read."""
        if self._error:
            raise self._error
        found: list[MessageEnd | Ping | CloseFrame] = []
        try:
            self._read(found)
        except FrameError as error:
            if not found:
                raise
            self._error, self.more = error, True  # after what came before it
        return found

    def _read(self, found: list[MessageEnd | Ping | CloseFrame]) -> None:
        messages = 0
        for _ in range(FRAMES_AT_ONCE):
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
        """Forget what was fed and half received: the connection has ended."""
        self._chunk, self._at, self._frame, self.more = b"", 0, None, False
        if self._message:
            self._message.account.close()
            self._message = None

    def _head(self) -> _Frame | None:
        """The frame that begins here, once its head is whole."""
        chunk, at = self._chunk, self._at
        if len(chunk) - at < 2:
            return None
        first, second = chunk[at], chunk[at + 1]
        if first & 0x70:
            raise FrameError(1002, "reserved bits are set")
        if not second & 0x80:
            raise FrameError(1002, "a client's frames have to be masked")
        if first & 0x0F not in _KNOWN:
            raise FrameError(1002, f"there is no opcode {first & 0x0F}")
        opcode, final, length = Opcode(first & 0x0F), bool(first & 0x80), second & 0x7F
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
        """Take what has come of the frame's payload; whether that is all of it."""
        if frame.opcode in _BEGINS and self._message is None:
            self._message = MessageEnd(frame.opcode, bytearray(), self._open_account())
        piece = self._chunk[self._at : self._at + frame.left]
        if not piece:
            return frame.left == 0
        self._at += len(piece)
        plain = _unmasked(piece, frame.mask)
        if frame.opcode >= Opcode.CLOSE:
            frame.control += plain
        else:
            assert self._message
            if not self._message.account.grow(len(piece)):
                raise FrameError(1013, "too much is half received by all clients together: try again later")
            self._message.data.extend(plain)
        frame.left -= len(piece)
        turned = len(piece) % 4
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


def _unmasked(piece: bytes, mask: bytes) -> bytes:
    if mask == b"\0\0\0\0":
        return piece
    if len(piece) < 64:
        return bytes(byte ^ mask[index & 3] for index, byte in enumerate(piece))
    count = len(piece)
    words = np.frombuffer(piece + bytes(-count % 4), np.uint32)
    plain: bytes = (words ^ np.frombuffer(mask, np.uint32)[0]).tobytes()
    return plain[:count]


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
