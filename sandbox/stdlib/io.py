# SPDX-License-Identifier: GPL-3.0-or-later
"""`io.StringIO` and `contextlib.redirect_stdout`, which write to text in memory: a script can open no files."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, Final

from ..guard.facade import Facade, hide
from ..guard.seam import Guard
from ..guard.values.text import Stream, Writable, written

__all__ = ("StringIO", "io_members", "redirecting")

_SEEK: Final = {"SEEK_SET": 0, "SEEK_CUR": 1, "SEEK_END": 2}


def io_members(guard: Guard) -> dict[str, object]:
    """Return the members of `io`, for one run."""
    return {
        "StringIO": lambda initial_value="", newline="\n": StringIO(guard, initial_value, newline),
        **_SEEK,
    }


class StringIO(Writable):
    """A buffer of text in memory, of limited length."""

    __slots__ = ("buffer", "guard")

    def __init__(self, guard: Guard, text: Any, newline: Any) -> None:
        if newline not in (None, "", "\n", "\r", "\r\n"):
            raise ValueError("StringIO() takes no such newline")
        _set_guard(self, guard)
        _set_buffer(self, io.StringIO("" if text is None else written(text), newline))

    def write(self, text: Any) -> int:
        """Write a text at the buffer's position; return the text's length."""
        buffer, text = _buffer(self), written(text)
        _guard(self).operators.length(buffer.tell() + len(text), "text")
        return buffer.write(text)

    def writelines(self, lines: Any) -> None:
        """Write texts one after the other at the buffer's position."""
        for line in _guard(self).iterated(lines):
            self.write(line)

    def getvalue(self) -> str:
        """Return the whole text of the buffer."""
        return _buffer(self).getvalue()

    def read(self, size: Any = -1) -> str:
        """Return `size` characters from the buffer's position, or all the rest."""
        return _buffer(self).read(size)

    def readline(self, size: Any = -1) -> str:
        """Return the next line, an empty text at the end."""
        return _buffer(self).readline(size)

    def readlines(self, hint: Any = -1) -> list[str]:
        """Return the lines after the buffer's position."""
        return _buffer(self).readlines(hint)

    def seek(self, place: Any, whence: Any = 0) -> int:
        """Move the buffer's position. Raises ValueError for a position after the end of the text."""
        buffer = _buffer(self)
        if whence == 0 and isinstance(place, int) and place > len(buffer.getvalue()):
            raise ValueError("seek() goes to a place in the text, not beyond its end")
        return buffer.seek(place, whence)

    def tell(self) -> int:
        """Return the buffer's position."""
        return _buffer(self).tell()

    def truncate(self, size: Any = None) -> int:
        """Cut the text at `size`, or at the buffer's position."""
        return _buffer(self).truncate(size)

    def close(self) -> None:
        """Free the text; the buffer cannot be used afterwards."""
        _buffer(self).close()

    def __iter__(self) -> Iterator[str]:
        return _guard(self).builtins.ticked(iter(_buffer(self).readlines()))

    def __enter__(self) -> StringIO:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


_guard: Callable[[StringIO], Guard]
_buffer: Callable[[StringIO], io.StringIO]
_guard, _set_guard = hide(StringIO, "guard")
_buffer, _set_buffer = hide(StringIO, "buffer")


class _Redirected(Facade):
    """The context manager of `contextlib.redirect_stdout`: sends what the script prints into a buffer."""

    __slots__ = ("about",)

    def __init__(self, guard: Guard, into: Writable) -> None:
        _set_about(self, (guard, into, []))

    def __enter__(self) -> Writable:
        guard, into, before = _about(self)
        before.append(guard.text.out)
        guard.text.out = None if type(into) is Stream else into
        return into  # type: ignore[no-any-return]

    def __exit__(self, *_error: object) -> None:
        guard, _, before = _about(self)
        guard.text.out = before.pop()


_about, _set_about = hide(_Redirected, "about")


def redirecting(guard: Guard) -> dict[str, object]:
    """Return `redirect_stdout` and `redirect_stderr`, which do the same: a script has one stream."""

    def redirect(new_target: Any) -> _Redirected:
        if not isinstance(new_target, Writable):
            raise TypeError("what a script prints can go into an io.StringIO() and nowhere else")
        return _Redirected(guard, new_target)

    return {"redirect_stdout": redirect, "redirect_stderr": redirect}
