# SPDX-License-Identifier: GPL-3.0-or-later
"""Mark lines that a reader of a script should not miss: they remove, repeat, reach outside, or hide text.

For display only: other code decides whether a script may run. No `bpy`.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from ..sandbox.language.parse import parse_if_python
from .alerts import named_outside

__all__ = ("LONGEST", "Mark", "lines_of", "marks", "visible")

Mark = Literal["outside", "hides", "removes", "unreached", "repeats"]

#: A line with more characters gets a mark: its end is easy to overlook.
LONGEST = 100
#: A run of this many spaces inside a line is shown as a number: it would push the rest out of sight.
_MOST_SPACES = 8
#: The same for the indentation.
_DEEPEST = 40

_REMOVES = re.compile(
    r"(^|_)(batch_remove|clear|decimate|delete|free|pop|purge|remove|unlink)(_|$)|orphans_purge"
)
_GAP = re.compile(rf"(?<=\S) {{{_MOST_SPACES},}}|^ {{{_DEEPEST},}}")


def lines_of(script: str) -> list[str]:
    """The lines as Python counts them. Further characters end a line for `str.splitlines`, but not in a script."""
    return re.split(r"\r\n|\r|\n", script)


def visible(line: str) -> str:
    """The line with everything visible: unusual spaces and characters as code points, long gaps as their length."""
    shown = "".join(_shown(letter) for letter in line.expandtabs(4))
    return _GAP.sub(lambda gap: f" ⟨{len(gap.group())} spaces⟩ ", shown)


def marks(script: str, unreached: Iterable[int] = ()) -> Mapping[int, frozenset[Mark]]:
    """Line number (from 1) -> its marks; lines without a mark are left out.

    `unreached` are the lines that the rehearsal never came to.
    """
    found: dict[int, set[Mark]] = {}
    never: Iterator[tuple[int, Mark]] = ((number, "unreached") for number in unreached)
    for number, mark in (*_found(script), *never):
        found.setdefault(number, set()).add(mark)
    return {number: frozenset(found[number]) for number in sorted(found)}


def _found(script: str) -> Iterator[tuple[int, Mark]]:
    for number, line in enumerate(lines_of(script), 1):
        if len(line) > LONGEST or _GAP.search(line) or any(_shown(letter) != letter for letter in line):
            yield number, "hides"
    yield from ((number, "hides") for number in _with_semicolon(script))
    tree = parse_if_python(script)
    if tree is None:
        return
    for node in ast.walk(tree):
        number = getattr(node, "lineno", 0)
        if _removes(node):
            yield (
                getattr(node, "end_lineno", number) if isinstance(node, ast.Attribute) else number,
                "removes",
            )
        if isinstance(
            node, ast.For | ast.While | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
        ):
            yield number, "repeats"
        if named_outside(node):
            yield number, "outside"


def _removes(node: ast.AST) -> bool:
    """Whether a node deletes something, or refers to a function that does."""
    match node:
        case ast.Delete():
            return True
        case (
            ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_])
            | ast.Call(func=ast.Name(id=name))
            | ast.Attribute(attr=name)
        ):
            return bool(_REMOVES.search(name))
    return False


def _with_semicolon(script: str) -> Iterator[int]:
    """Lines with more than one statement."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(script).readline):
            if token.type == tokenize.OP and token.string == ";":
                yield token.start[0]
    except (tokenize.TokenError, SyntaxError, ValueError):
        return


def _shown(letter: str) -> str:
    """A character, or its code point if it is invisible or looks like a plain space."""
    if letter == " " or letter == "\t" or unicodedata.category(letter)[0] not in "ZC":
        return letter
    return f"⟨U+{ord(letter):04X}⟩"
