# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits how long the texts are that a script gives to Blender, which for some takes the square of their length.

RNA limits most text properties, and cuts what is longer. The others, the lines of Text data-blocks and the texts of
operators have a limit here.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

from ..guard.seam import BlenderHost, Writer
from .functions.parameters import parameters
from .plain_values import as_plain

__all__ = ("LONGEST_LINE", "MOST_CHARACTERS", "check_line", "check_text", "cut", "limited", "name_limit")

MOST_CHARACTERS: Final = 100_000
"""The most characters of a text that Blender keeps in one property."""
LONGEST_LINE: Final = 20_000
"""The most characters of a line of a Text: to write into a longer one takes seconds."""


def check_text(host: BlenderHost, text: Any, what: str) -> None:
    """Stop the run at a text that is too long for a property or an operator."""
    if isinstance(text, str) and len(text) > MOST_CHARACTERS:
        host.exceed(
            f"{what} of {len(text):,} characters is over the limit of {MOST_CHARACTERS:,}", limit="text"
        )


def check_line(host: BlenderHost, text: Any, before: int = 0) -> None:
    """Stop the run at a line that is too long for a Text; its first line is appended to `before` characters."""
    if not isinstance(text, str) or len(text) + before <= LONGEST_LINE:
        return
    lines = text.split("\n")
    longest = max(len(lines[0]) + before, *map(len, lines))
    if longest > LONGEST_LINE:
        host.exceed(
            f"a line of {longest:,} characters in a Text is over the limit of {LONGEST_LINE:,}: "
            "write several lines",
            limit="text",
        )


def limited(prop: Any, write: Writer | None) -> Writer | None:
    """Return a writer that checks the length before `write`, if RNA does not limit the text `prop`; else `write`."""
    if prop is None or prop.type != "STRING" or prop.length_max:
        return write

    def checked(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        new = as_plain(new)
        check_text(host, new, f"{value.rna_type.identifier}.{name}")
        if write is None:
            setattr(value, name, new)
        else:
            write(host, value, name, new)

    return checked


class NameLimit(NamedTuple):
    """A parameter that becomes a name: its place among the parameters, and how many bytes of UTF-8 Blender keeps."""

    position: int
    parameter: str
    most: int


@cache
def name_limit(path: str) -> NameLimit | None:
    """Return the limit of the name that `Struct.function` gives to what it makes; None if RNA limits the name itself.

    Blender cuts a name that is too long, if necessary in the middle of a character, and then cannot find it.
    """
    every = parameters(path)
    made = next((p.fixed_type for p in every if p.is_output and p.type == "POINTER"), None)
    name = made.properties.get("name") if made is not None else None
    given: list[Any] = [p for p in every if not p.is_output]
    most = getattr(name, "length_max", 0) - 1
    for position, each in enumerate(given if most > 0 else ()):
        if each.identifier == "name" and each.type == "STRING" and not each.length_max:
            return NameLimit(position, "name", most)
    return None


def cut(
    limit: NameLimit, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, with the name cut after the last character that fits."""
    at, parameter, most = limit
    name = args[at] if len(args) > at else kwargs.get(parameter)
    if (
        not isinstance(name, str)
        or len(name) * 4 <= most
        or len(data := name.encode("utf-8", "surrogatepass")) <= most
    ):
        return args, kwargs
    short = data[:most].decode("utf-8", "ignore")
    if len(args) > at:
        return (*args[:at], short, *args[at + 1 :]), kwargs
    return args, {**kwargs, parameter: short}
