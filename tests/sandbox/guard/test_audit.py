# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of audit events, and who holds grants for them."""

from __future__ import annotations

import ast
import re
import sysconfig
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge import sandbox
from bl_ext.user_default.mcp_bridge.sandbox.guard import audit
from bl_ext.user_default.mcp_bridge.sandbox.run import wall

_ROOM = Path(sandbox.__file__).parent
_LIBRARY = Path(sysconfig.get_paths()["stdlib"])
_RAISED = re.compile(r"""\bsys\.audit\(\s*["']([^"']+)["']""")


def _asked() -> dict[str, set[str]]:
    """The events that our modules ask a grant for, by the module."""
    found: dict[str, set[str]] = {}
    for path in _ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("may_raise"):
                names = {each.value for each in node.args if isinstance(each, ast.Constant)}
                found.setdefault(path.relative_to(_ROOM).as_posix(), set()).update(names)
    return found


def test_each_event_has_one_verdict_and_says_what_raising_it_is() -> None:
    listed = [event for events in audit.LISTED.values() for event in events]
    assert len(listed) == len(set(listed)) > 180
    assert all(reason.strip() for events in audit.LISTED.values() for reason in events.values())
    assert set(audit.LISTED) == {"allow", "own", "deny"}


def test_what_may_be_granted_is_granted_and_nothing_else() -> None:
    asked = set().union(*_asked().values())
    assert asked | wall._SHOWING == audit.OWN


def test_every_event_of_the_standard_library_is_listed() -> None:
    """Those that C code raises are in the list too; one that is new in a Python is denied until it is."""
    listed = {event for events in audit.LISTED.values() for event in events}
    found = {
        event
        for path in _LIBRARY.rglob("*.py")
        if not {"test", "tests", "site-packages", "dist-packages", "idlelib"} & set(path.parts)
        for event in _RAISED.findall(path.read_text("utf-8", "replace"))
    }
    assert len(found) > 30
    assert found <= listed


_CALLING_C = re.compile(r"\bctypes\.(?!c_|cdata|sizeof|pointer|addressof)\w+")
"""What of ctypes may call a function of C: all but types, sizes and addresses."""


def test_what_calls_functions_of_c_during_a_run_may_do_so() -> None:
    """The Python 3.14 of Debian raises an event for each such call, older Pythons raise none."""
    calling = {
        path.relative_to(_ROOM).as_posix()
        for path in _ROOM.rglob("*.py")
        if "import ctypes\n" in (text := path.read_text("utf-8")) and _CALLING_C.search(text)
    }
    outside_of_runs = {each for each in calling if each.startswith("confinement/")}
    granted = {module for module, events in _asked().items() if "ctypes.call_function" in events}
    assert len(calling - outside_of_runs) >= 3
    assert calling - outside_of_runs <= granted


def test_no_grant_is_given_for_what_is_denied() -> None:
    with pytest.raises(
        ValueError, match=r"^audit event 'os\.system' is not listed under 'own' in facts/audit_ev"
    ):
        audit.may_raise("os.system")(lambda: None)


def test_an_attempt_is_told_in_words_with_the_text_that_it_is_about() -> None:
    assert audit.attempt("open", ("/etc/passwd", "r", 0)) == "open a file (audit event open, '/etc/passwd')"
    assert (
        audit.attempt("gc.get_objects", (-1,))
        == "list the objects of the process (audit event gc.get_objects)"
    )
    assert audit.attempt("new.event", (b"x",)) == "do what nobody has reviewed (audit event new.event)"
    assert len(audit.attempt("open", ("x" * 10_000,))) < 300


def test_the_code_of_methods_decorated_functions_and_callable_instances_is_found() -> None:
    import functools

    class Callable:
        def __call__(self) -> None: ...
        def method(self) -> None: ...

    @functools.lru_cache
    def cached() -> object:
        return lambda: None

    assert audit.code_of(Callable()) is Callable.__call__.__code__
    assert audit.code_of(Callable().method) is Callable.method.__code__
    assert audit.code_of(functools.partial(Callable().method)) is Callable.method.__code__
    assert audit.code_of(cached) is cached.__wrapped__.__code__
    assert audit.code_of(len) is None
    assert audit.code_of("text") is None
