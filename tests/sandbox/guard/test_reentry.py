# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may call the methods of a script's classes."""

from __future__ import annotations

import ast
import importlib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge import sandbox
from bl_ext.user_default.mcp_bridge.sandbox.guard import guards, operators, reentry
from bl_ext.user_default.mcp_bridge.sandbox.guard.meter import Interrupted
from bl_ext.user_default.mcp_bridge.sandbox.language import builtin_methods
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Refused

from support.sandboxing.language import run

_ROOM = Path(sandbox.__file__).parent
_GRANT = "may_call_scripts(globals()"


def _granting() -> list[Path]:
    return [path for path in _ROOM.rglob("*.py") if f"\n{_GRANT}" in path.read_text("utf-8")]


def test_no_module_with_the_permission_imports_blender() -> None:
    granting = _granting()
    assert len(granting) > 10
    for path in granting:
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            roots = {name.partition(".")[0] for name in names}
            assert roots.isdisjoint(
                {"bpy", "bmesh", "mathutils", "numpy", "blender", "lifetime", "growth"}
            ), path


def test_the_permission_goes_by_code_and_not_by_name() -> None:
    """A function of the same name, module and file has none."""
    names = {"__name__": operators.__name__, "__file__": operators.__file__}
    exec(compile("def compare(value):\n    return len(value)\n", operators.__file__, "exec"), names)
    for function in (names["compare"], lambda value: len(value), _measure):
        with pytest.raises(
            Refused, match=r"Blender would run Rows\.__len__\(\) in the midst of its own work"
        ):
            function(_rows())
    assert run("class Rows:\n    def __len__(self): return 3\nresult = len(Rows()), bool(Rows())")[
        "result"
    ] == (3, True)


def test_a_scripts_own_code_never_holds_the_permission() -> None:
    """Code objects are equal that were written alike: a script may have one that is equal to a permitted one."""
    script = run("class Rows:\n    def __len__(self): return 3\nrows = Rows()").names
    ours: dict[str, Any] = {"__name__": "permitted", "__file__": "permitted.py"}
    exec(compile("def compare(value):\n    return len(value)\n", "permitted.py", "exec"), ours)
    reentry.may_call_scripts(ours)
    with pytest.raises(Interrupted):  # it was let through, and the run is over
        ours["compare"](script["rows"])
    alike = types.FunctionType(ours["compare"].__code__, script)
    with pytest.raises(Refused, match=r"Blender would run Rows\.__len__\(\)"):
        alike(script["rows"])


def _measure(value: Any) -> int:
    return len(value)


def _rows() -> Any:
    return run("class Rows:\n    def __len__(self): return 3\nrows = Rows()")["rows"]


@pytest.mark.parametrize("method", sorted(builtin_methods.CALLED_BY_C))
def test_each_method_refuses_whoever_has_no_permission(method: str) -> None:
    made = run(f"class A:\n    def {method}(self, *a): return 1\na = A()")["a"]
    with pytest.raises(Refused, match=f"Blender would run A.{method}"):
        getattr(type(made), method)(made)


def test_what_calls_anything_has_no_permission() -> None:
    permitted = reentry._PERMITTED - reentry._CALLING_ANYTHING
    assert not [code for code in permitted if code.co_name == "<lambda>"]
    ticking = guards.Builtins.ticking.__code__
    inner = [each for each in ticking.co_consts if isinstance(each, types.CodeType)]
    assert {ticking, *inner} <= reentry._CALLING_ANYTHING


def test_modules_that_grant_are_permitted_whole() -> None:
    """Each function that is written out in such a module is either permitted or calls anything."""
    for path in _granting():
        name = ".".join(path.relative_to(_ROOM).with_suffix("").parts)
        module = importlib.import_module(f"{sandbox.__name__}.{name}")
        functions: list[Callable[..., Any]] = [
            each
            for each in vars(module).values()
            if isinstance(each, types.FunctionType) and each.__module__ == module.__name__
        ]
        known = reentry._PERMITTED | reentry._BY_INSTRUCTION | reentry._CALLING_ANYTHING
        assert {each.__code__ for each in functions if each.__code__.co_filename == module.__file__} <= known
