# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles a script's text to code that can only run under guards.

`compile_script` refuses what no script may say, with line, column, the offending source and what to do instead, and
rewrites the rest (see `members` for how). The code can only run in a namespace from `run.namespace`.
"""

from __future__ import annotations

import ast
import functools
import warnings
from dataclasses import asdict, dataclass, replace
from types import CodeType
from typing import Final

from ...base.errors import PolicyError
from ...base.process import collector
from .analysis.inference import Scopes
from .analysis.reached import Reached
from .nodes import Finding
from .parse import parse
from .prepare import prepare
from .statements import Import, Statements

__all__ = ("Compiled", "Finding", "Import", "ScriptRefused", "compile_script")

SOURCE_LIMIT: Final = 1_000_000
"""The most characters of a script; a policy's own limit is usually lower."""
#: The most findings in the message; the structured result has all of them.
_MOST_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Compiled:
    """A script that may run."""

    code: CodeType
    source: str
    filename: str
    imports: tuple[Import, ...]
    attributes_read: frozenset[str]
    attributes_written: frozenset[str]
    has_classes: bool
    reached: Reached | None = None
    """The flags that the script's statements set when they run."""


class ScriptRefused(PolicyError):
    """The script breaks the language's rules, or is not Python. `findings` has all problems, in order."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        first, shown = findings[0], findings[:_MOST_SHOWN]
        more = [f"(and {len(findings) - len(shown)} more)"] if len(findings) > len(shown) else []
        super().__init__("\n".join([*map(str, shown), *more]), code=first.code, line=first.line)
        self.findings = findings
        self.facts = {"errors": [asdict(finding) for finding in findings]}


def compile_script(
    source: str,
    *,
    filename: str = "<script>",
    source_limit: int = SOURCE_LIMIT,
    reached: Reached | None = None,
) -> Compiled:
    """Compile a script; in the result, each statement sets its flag in `reached` when it runs.

    Raises:
        ScriptRefused: with every finding; codes are `syntax`, `name`, `attribute`, `import`, `size`.
    """
    make = _kept if reached is None else _compile
    return make(source, filename, source_limit, reached)


def _compile(source: str, filename: str, source_limit: int, reached: Reached | None) -> Compiled:
    # a tree has many objects and no garbage: each collection would search the host's objects, too
    with warnings.catch_warnings(), collector.off():
        warnings.simplefilter("ignore")  # Python would print SyntaxWarnings (`1[0]`) on the host's console
        return _rewritten(source, filename, source_limit, reached)


#: Keeps the last scripts: each is validated first, and soon afterwards run.
_kept: Final = functools.lru_cache(maxsize=4)(_compile)


def _rewritten(source: str, filename: str, source_limit: int, reached: Reached | None) -> Compiled:
    tree = _parse(source, filename, source_limit)
    try:
        transformer = Statements(Scopes(tree))
        new = transformer.visit(tree)
        if transformer.findings:
            raise ScriptRefused(_located(transformer.findings, source))
        new = reached.mark(new) if reached is not None else new
        code = compile(new, filename, "exec", dont_inherit=True, optimize=0)
    except (RecursionError, MemoryError):
        raise _refusal(
            "size", "the script is nested too deeply", "split it into statements or functions"
        ) from None
    except SyntaxError as error:
        raise _from_syntax_error(error, source) from None
    except ValueError as error:
        raise _refusal("syntax", f"not valid Python: {error}") from None
    return Compiled(
        code,
        source,
        filename,
        tuple(transformer.imports),
        frozenset(transformer.attributes_read),
        frozenset(transformer.attributes_written),
        transformer.has_classes,
        reached,
    )


def _parse(source: str, filename: str, source_limit: int) -> ast.Module:
    if len(source) > source_limit:
        raise _refusal(
            "size",
            f"the script has {len(source):,} characters; {source_limit:,} are allowed",
            "send it in parts",
        )
    try:
        return prepare(parse(source, filename))
    except (RecursionError, MemoryError):
        raise _refusal(
            "size", "the script is nested too deeply", "split it into statements or functions"
        ) from None
    except SyntaxError as error:
        raise _from_syntax_error(error, source) from None
    except ValueError as error:  # for null characters and lone surrogates
        raise _refusal("syntax", f"not valid Python: {error}", "send plain text") from None


def _refusal(code: str, message: str, advice: str = "") -> ScriptRefused:
    return ScriptRefused((Finding(code, message, 1, 1, advice=advice),))


def _from_syntax_error(error: SyntaxError, source: str) -> ScriptRefused:
    finding = Finding(
        "syntax", f"not valid Python: {error.msg}", error.lineno or 1, max(error.offset or 1, 1)
    )
    return ScriptRefused(_located([finding], source))


def _located(findings: list[Finding], source: str) -> tuple[Finding, ...]:
    """Return the findings in the order of the source, each with its source line."""
    lines = source.splitlines()
    ordered = sorted(findings, key=lambda finding: (finding.line, finding.column))
    return tuple(
        replace(each, source=lines[each.line - 1].strip()[:200]) if 0 < each.line <= len(lines) else each
        for each in ordered
    )
