# SPDX-License-Identifier: GPL-3.0-or-later
"""No exception that a script makes, or changes, has a text that Python reads from memory that is not its own."""

from __future__ import annotations

import builtins
import functools

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.guard.builtins import _SAME_IN_ALL_RUNS
from bl_ext.user_default.mcp_bridge.sandbox.guard.classes import reads_memory

from support.running import fork
from support.sandboxing import language

NAMES = [
    name
    for name, kind in _SAME_IN_ALL_RUNS.items()
    if isinstance(kind, type) and issubclass(kind, Exception)  # SystemExit is called, but no base
]
_KINDS = [
    each for each in vars(builtins).values() if isinstance(each, type) and issubclass(each, BaseException)
]
_CALLS = """
far = 1 << 44
given = [(), ("a",), ("utf-8", b"x", -far, 1 - far, "a"), ("utf-8", "x", -far, 1 - far, "a"), ("x", -far, 1 - far, "a")]
given += [("utf-8", b"x", far, far + 1, "a"), ("utf-8", "x", far, far + 1, "a"), (1, 2, 3, 4, 5), (None,) * 5]
given += [("a", ("b", -far, far, "c", far, -far)), ("a", (1, None, 2, b"c")), (far, "a", b"b", None, 5)]
"""
_CHANGES = "(5, -far, far, far + 1, 'x', b'x', None, (), 1.5, [])"


def _shown(kind: str) -> int:
    script = f"""{_CALLS}
class Own({kind}): pass
shown = 0
for arguments in given:
    for kind in ({kind}, Own):
        try:
            error = kind(*arguments)
        except (TypeError, ValueError):
            continue
        shown += len(f"{{error}} {{error!r}}" + "%s" % error) > 0
        if kind is {kind}:
            continue
        names = [name for name in dir(error) if name not in ("args", "add_note", "with_traceback")]
        for name in names:
            for value in {_CHANGES}:
                try:
                    setattr(error, name, value)
                    str(error), repr(error)
                except (TypeError, ValueError, AttributeError, OverflowError, SystemError):
                    continue
result = shown
"""
    shown: int = language.run(script, level="math")["result"]
    return shown


def test_no_arguments_and_no_attributes_let_a_text_show_memory() -> None:
    assert len(NAMES) > 35
    ends = fork.run_each(_shown, NAMES)
    assert {
        name: end for name, end in zip(NAMES, ends, strict=True) if not isinstance(end, int) or not end
    } == {}


def _text(kind: type[BaseException]) -> str:
    far = 1 << 44
    made = []
    for arguments in (
        ("utf-8", b"x", -far, 1 - far, "a"),
        ("utf-8", "x", -far, 1 - far, "a"),
        ("x", -far, 1 - far, "a"),
    ):
        try:
            made.append(kind(*arguments))
        except (TypeError, ValueError):
            continue
    return "".join(map(str, made))


def test_the_rule_knows_each_exception_of_python_whose_text_reads_memory() -> None:
    ends = fork.run_each(_text, [kind for kind in _KINDS if not reads_memory(kind)])
    assert not [end for end in ends if not isinstance(end, str)]


@pytest.mark.parametrize(
    "reach", ["type(error)", "error.__class__", "UnicodeDecodeError", "UnicodeEncodeError"]
)
@pytest.mark.parametrize("fail", [r"b'\xff'.decode('utf-8')", r"'\ud800'.encode('utf-8')"])
def test_a_script_gets_no_class_that_reads_memory(reach: str, fail: str) -> None:
    script = f"""
try:
    {fail}
except UnicodeError as error:
    result = {reach}
    told = type(error).__name__, str(error), error.reason, error.start
"""
    ran = language.run(script, level="math")
    assert not (isinstance(ran["result"], type) and reads_memory(ran["result"]))
    assert ran["told"][0] in ("UnicodeDecodeError", "UnicodeEncodeError")
    assert ran["told"][3] == 0


@pytest.mark.parametrize("name", ["UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError", "ValueError"])
def test_errors_of_encodings_are_caught_by_each_of_their_names(name: str) -> None:
    script = functools.reduce(
        lambda text, line: text + line + "\n",
        ["try:", r"    b'\xff'.decode('utf-8')", f"except {name} as error:", "    result = str(error)"],
        "",
    )
    assert "can't decode byte 0xff" in language.run(script, level="math")["result"]
