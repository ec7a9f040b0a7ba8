# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits what is kept of a process's output: the end of its chatter, and its answers line by line."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import BinaryIO

__all__ = ("Answers", "Tail")

_CHUNK = 64 * 1024


class Tail:
    """The last `keep` bytes of a stream. Safe to use from two threads."""

    def __init__(self, keep: int = 64 * 1024) -> None:
        self._keep = keep
        self._data = bytearray()
        self._lock = threading.Lock()

    def feed(self, chunk: bytes) -> None:
        """Add bytes that the process has printed."""
        with self._lock:
            self._data += chunk
            del self._data[: -self._keep]

    def text(self) -> str:
        """Return the kept text without control characters: it comes from an untrusted program."""
        with self._lock:
            text = self._data.decode("utf-8", "replace")
        return "".join(character for character in text if character.isprintable() or character == "\n")

    def last_words(self, most: int = 300) -> str:
        """Return the last `most` characters on one line, for an error message."""
        return " ".join(self.text().split())[-most:]

    def follow(self, pipe: BinaryIO) -> None:
        """Read a pipe until it ends, and keep its last bytes."""
        with pipe:
            while chunk := pipe.read1(_CHUNK):  # type: ignore[attr-defined]
                self.feed(chunk)


class Answers:
    """The answers that nobody has fetched yet: lines of at most `longest` bytes, at most `most` of them.

    Together they are limited in bytes, too. `flooded` is called, once, if a process writes more; the rest is not read.
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
        """Read a pipe until it ends, or until the process writes too much."""
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
        """Return the next answer, None if no more will come. Raises TimeoutError after `timeout` seconds."""
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
