# SPDX-License-Identifier: GPL-3.0-or-later
"""What a process writes, kept within bounds: the last of its chatter, and its answers line by line."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import BinaryIO

__all__ = ("Answers", "Tail")

_CHUNK = 64 * 1024


class Tail:
    """The last `keep` bytes of what was fed. Safe to use from two threads."""

    def __init__(self, keep: int = 64 * 1024) -> None:
        self._keep = keep
        self._data = bytearray()
        self._lock = threading.Lock()

    def feed(self, chunk: bytes) -> None:
        """Take bytes that the process has printed."""
        with self._lock:
            self._data += chunk
            del self._data[: -self._keep]

    def text(self) -> str:
        """What is kept, without control characters: it comes from a program that nobody trusts."""
        with self._lock:
            text = self._data.decode("utf-8", "replace")
        return "".join(character for character in text if character.isprintable() or character == "\n")

    def last_words(self, most: int = 300) -> str:
        """The last `most` characters on one line, for an error message."""
        return " ".join(self.text().split())[-most:]

    def follow(self, pipe: BinaryIO) -> None:
        """Feed on a pipe until it ends."""
        with pipe:
            while chunk := pipe.read1(_CHUNK):  # type: ignore[attr-defined]
                self.feed(chunk)


class Answers:
    """Lines of at most `longest` bytes, and not more than `most`, nor more bytes, that nobody has fetched.

    `flooded` is called, once, when a process writes more; the rest of its output is not read.
    """

    def __init__(
        self, flooded: Callable[[], None], *, longest: int = 32 * 1024 * 1024, most: int = 1000
    ) -> None:
        self._flooded = flooded
        self._longest = longest
        self._most = most
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._waiting = 0
        self._lock = threading.Lock()

    def follow(self, pipe: BinaryIO) -> None:
        """Read a pipe until it ends, or floods."""
        with pipe:
            while line := pipe.readline(self._longest):
                cut = len(line) == self._longest and not line.endswith(b"\n")
                with self._lock:
                    self._waiting += len(line)
                if cut or self._lines.qsize() >= self._most or self._waiting > self._longest:
                    self._flooded()
                    break
                self._lines.put(line)
        self._lines.put(None)

    def next(self, timeout: float) -> bytes | None:
        """The next answer; None when there is none to come. Raises TimeoutError after `timeout` seconds."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            self._lines.put(None)
        else:
            with self._lock:
                self._waiting -= len(line)
        return line
