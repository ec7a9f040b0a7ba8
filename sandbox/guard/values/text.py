# SPDX-License-Identifier: GPL-3.0-or-later
"""Values as text: `str`, `repr`, `format`, `str.format` and `print` with bounded size and guarded look-ups."""

from __future__ import annotations

import contextlib
import functools
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..facade import Facade, hide
from ..reentry import may_call_scripts
from ..seam import Guard
from .plain import SCALAR_TYPES
from .weight import has_containers
from .widths import check_spec

__all__ = ("Stream", "Text", "Writable", "written")

_FIELD: Final = re.compile(r"\.([^.\[\]]*)|\[([^\]]*)\]")
_REMEMBERED: Final = 1000
"""The longest template that is cached, in characters: longer ones would stay in memory after the run."""
_Piece = tuple[str, str | None, str | None, str | None]
"""Literal text, and the field after it, if any, with its format spec and conversion."""


@functools.lru_cache(maxsize=256)
def _parse(template: str) -> tuple[_Piece, ...]:
    return tuple(string.Formatter().parse(template))


def _pieces(template: str) -> Iterable[_Piece]:
    """Return the parts of a template; if it is malformed, those before the error come first, as in Python."""
    if (
        type(template) is str and len(template) <= _REMEMBERED
    ):  # a subclass could claim to equal another template
        with contextlib.suppress(ValueError):
            return _parse(template)
    return string.Formatter().parse(template)


class Text:
    """Makes text of values, for one run."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        #: Where the script prints to; None for the result.
        self.out: Writable | None = None

    def show(self, value: Any) -> str:
        """Return `str(value)` of bounded length."""
        kind = type(value)
        if kind is str:
            return value  # type: ignore[no-any-return]
        if kind in SCALAR_TYPES:
            return str(value)
        facade = self._guard.facade_text(value)
        if facade is not None:
            return facade
        if has_containers(value):
            self._guard.operators.weight(value, shown=True)
        self._guard.operators.room_for_text()
        return str(value)

    def repr(self, value: Any) -> str:
        """Return `repr(value)` of bounded length."""
        facade = self._guard.facade_text(value)
        if facade is not None:
            return facade
        self._guard.operators.weight(value, shown=True)
        self._guard.operators.room_for_text()
        return repr(value)

    def format_value(self, value: Any, spec: Any = "") -> str:
        """Return `format(value, spec)` of bounded length."""
        if type(spec) is not str:
            raise TypeError(f"format() argument 2 must be str, not {type(spec).__name__}")
        if not spec:
            return self.show(value)
        check_spec(self._guard.meter, spec)
        return format(value, spec)

    def print(
        self, *values: Any, sep: Any = None, end: Any = None, file: Any = None, flush: Any = False
    ) -> None:
        """Keep `print(…)` for the result; a script can print to streams of `sys` and `io.StringIO`, not to files."""
        if file is not None and not isinstance(file, Writable):
            self._guard.meter.refuse("print(file=…): a script has no files: print without it")
        into = self.out if file is None or type(file) is Stream else file
        separator, ending = (" " if sep is None else sep), ("\n" if end is None else end)
        if not isinstance(separator, str) or not isinstance(ending, str):
            raise TypeError("sep and end must be None or a string")
        write = self._guard.meter.print if into is None else into.write
        for position, value in enumerate(values):
            if position:
                write(separator)
            write(self.show(value))
        write(ending)

    def format(self, template: str, arguments: Sequence[Any], named: Any) -> str:
        """Return `template.format(*arguments, **named)`; the guards look up its attributes and items."""
        parts: list[str] = []
        self._fill(template, arguments, named, parts, _Numbering(), 2)
        return "".join(parts)

    def _fill(
        self,
        template: str,
        arguments: Sequence[Any],
        named: Any,
        parts: list[str],
        numbering: _Numbering,
        depth: int,
    ) -> None:
        if depth < 0:
            raise ValueError("Max string recursion exceeded")
        total = sum(map(len, parts))
        for literal, field, spec, conversion in _pieces(template):
            piece = literal
            if field is not None:
                value = self._look_up(field, arguments, named, numbering)
                if spec and "{" in spec:
                    inner: list[str] = []
                    self._fill(spec, arguments, named, inner, numbering, depth - 1)
                    spec = "".join(inner)
                piece += self.format_value(self._convert(value, conversion), spec or "")
            total += len(piece)
            self._guard.operators.length(total, "text")
            parts.append(piece)

    def _convert(self, value: Any, conversion: str | None) -> Any:
        match conversion:
            case None:
                return value
            case "s":
                return self.show(value)
            case "r":
                return self.repr(value)
            case "a":
                return ascii(self.repr(value))[1:-1]
        raise ValueError(f"Unknown conversion specifier {conversion!r}")

    def _look_up(self, field: str, arguments: Sequence[Any], named: Any, numbering: _Numbering) -> Any:
        name, rest = field, ""
        if "." in field or "[" in field:
            end = min(at for at in (field.find("."), field.find("[")) if at >= 0)
            name, rest = field[:end], field[end:]
        if name == "" or name.isdigit():
            value = arguments[numbering.next() if name == "" else numbering.explicit(int(name))]
        elif isinstance(named, Mapping):
            value = named[name]
        else:
            value = self._guard.getitem(named, name)
        position = 0
        while position < len(rest):
            step = _FIELD.match(rest, position)
            if step is None:
                raise ValueError(f"cannot read the format field {field!r}")
            attribute, key = step.groups()
            if attribute is not None:
                value = self._guard.get_named(value, attribute)
            else:
                value = self._guard.getitem(value, int(key) if key.isdigit() else key)
            position = step.end()
        return value


class Writable(Facade):
    """A value that a script may print to."""

    __slots__ = ()

    def write(self, text: Any) -> Any:
        """Write a text."""
        raise NotImplementedError

    def flush(self) -> None:
        """Do nothing: every text is kept at once."""

    def isatty(self) -> bool:
        """Return False: it is no terminal."""
        return False


def written(text: Any) -> str:
    """Return a text as a plain str. Raises TypeError for anything else."""
    if not isinstance(text, str):
        raise TypeError(f"write() argument must be str, not {type(text).__name__}")
    return text if type(text) is str else "".join(text)


class Stream(Writable):
    """`sys.stdout` and `sys.stderr`: what a script writes there is in its result, like what it prints."""

    __slots__ = ("guard",)

    def __init__(self, guard: Guard) -> None:
        _set_guard(self, guard)

    def write(self, text: Any) -> int:
        """Write a text; returns its length."""
        text = written(text)
        _guard(self).text.print(text, end="")
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write texts one after the other."""
        for line in _guard(self).iterated(lines):
            self.write(line)

    @property
    def encoding(self) -> str:
        """The encoding of the stream: `utf-8`."""
        return "utf-8"


_guard, _set_guard = hide(Stream, "guard")


class _Numbering:
    """Numbers the fields of a template: `{}` and `{0}` cannot be mixed."""

    def __init__(self) -> None:
        self._count = 0
        self._explicit = False

    def next(self) -> int:
        """Return the number of the next `{}`."""
        if self._explicit:
            raise ValueError("cannot switch from manual field specification to automatic field numbering")
        self._count += 1
        return self._count - 1

    def explicit(self, number: int) -> int:
        """Return the number of a `{number}`."""
        if self._count:
            raise ValueError("cannot switch from automatic field numbering to manual field specification")
        self._explicit = True
        return number


may_call_scripts(globals())
