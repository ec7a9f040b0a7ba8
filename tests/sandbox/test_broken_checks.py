# SPDX-License-Identifier: GPL-3.0-or-later
"""Fail closed: each function on the way to a refusal is broken on purpose, and the attack is stopped all the same.

Attacks are run once to see which functions of the sandbox they go through. Then each of these functions raises an
ordinary exception as soon as it is called, and the attack runs again that came nearest to its refusal after it. The
script catches what it can: whatever raises ends the statement, and the next one runs.

By default one function in eight is broken, by its name; `MCP_BRIDGE_BROKEN_CHECKS=all` breaks all, by each error.
"""

from __future__ import annotations

import ast
import gc
import inspect
import os
import re
import types
import zlib
from collections.abc import Iterator

import pytest
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.sandbox.growth import estimate
from bl_ext.user_default.mcp_bridge.sandbox.growth.geometry import Geometry
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import parts

from support.running.warm import warm
from support.sandboxing import broken, sandbox_cases
from support.sandboxing.sandbox_cases import Attack, Namespace, Outcome, guarded, run_attack

_ALL = os.environ.get("MCP_BRIDGE_BROKEN_CHECKS") == "all"
#: What a function raises that is broken; by its name, one of them is chosen.
_ERRORS = (RuntimeError, TypeError, AttributeError, KeyError, ReferenceError, ValueError)
#: Every so many attacks of a kind that takes long is tried.
_EVERY = {"dos-memory": 6, "dos-crash": 6, "dos-time": 20}
#: Functions that check nothing: they carry out what was decided, or bring back what was there before.
_DEEDS = (
    "guard/meter.py Meter.",
    "growth/geometry.py _defuse:",
    "blender/overrides.py Override.__exit__:",
    "blender/overrides.py Overrides.end:",
    "run/undo.py ",
    "run/cleanup.py ",
    "run/wall.py Armed.__exit__:",  # the wall stays up, so that the fork cannot even answer
)
#: Harm that is told by what a script has done or said itself is told only of a script that ends where it is stopped.
_BY_ITSELF = ("g.", "in g")
#: An attack is left out that says itself, in words of its own, that it did harm: it may say so of what raised.
_BY_WORDS = re.compile("leak:(?!SBX-SECRET|@)")


def _swallowing(code: str) -> str:
    """The script with each of its statements in a `try` of its own."""
    tree = ast.parse(code)
    handlers = [ast.ExceptHandler(ast.Name("Exception"), None, [ast.Pass()])]
    tree.body = [each if _is_future(each) else ast.Try([each], handlers, [], []) for each in tree.body]
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _run(code: str, names: Namespace, attack: Attack) -> str:
    by_itself = any(mark in attack.detect for mark in _BY_ITSELF)
    return guarded(code if by_itself else _swallowing(code), names)


def _way(attack: Attack) -> list[str]:
    """The functions of the sandbox that an attack goes through, the last one last."""

    def recording(code: str, names: Namespace) -> str:
        called = broken.Called()
        try:
            with called:
                _run(code, names, attack)
        except (
            BaseException
        ):  # only the calls before it matter here: the next test asserts that the attack is stopped
            pass
        return "\n".join(map(broken.name_of, list(called.codes)))

    return str(run_attack(attack, recording).details.get("out", "")).splitlines()


@pytest.fixture(scope="module")
def _ready() -> Iterator[None]:
    """Blender's own start-up file, and everything loaded and made that a run needs."""
    warm()
    settings.set_preferences({"time_limit_s": 1.5})
    parts.prepare()
    yield
    settings.set_preferences({})


def _attacks() -> list[Attack]:
    """Those that are quick, and every so many of the others."""
    found: list[Attack] = []
    kinds: dict[str, int] = {}
    for attack in sandbox_cases.attacks():
        if _BY_WORDS.match(attack.detect):
            continue
        kinds[attack.category] = at = kinds.get(attack.category, -1) + 1
        if at % _EVERY.get(attack.category, 1) == 0:
            found.append(attack)
    return found


def _codes() -> dict[str, types.CodeType]:
    """The code of all functions of the sandbox, by `broken.name_of`."""
    functions = [each for each in gc.get_objects() if type(each) is types.FunctionType]
    found = [
        code for each in functions if broken.is_ours(each.__code__) for code in broken.codes(each.__code__)
    ]
    return {broken.name_of(code): code for code in found}


def _broken_run(attack: Attack, code: types.CodeType, error: type[Exception]) -> Outcome:
    def run(script: str, names: Namespace) -> str:
        broken.break_code(code, error)
        return _run(script, names, attack)

    return run_attack(attack, run)


@pytest.mark.usefixtures("_ready")
@pytest.mark.timeout(3600 if _ALL else 900)
def test_an_attack_is_stopped_whichever_function_on_its_way_is_broken() -> None:
    nearest: dict[str, tuple[int, Attack]] = {}
    silent: list[str] = []
    for attack in _attacks():
        way = _way(attack)
        silent += [] if way else [attack.id]
        assert len(silent) < 5, f"these gave no answer, and so perhaps none does: {silent}"
        for left, name in enumerate(reversed(way)):
            if name not in nearest or left < nearest[name][0]:
                nearest[name] = left, attack
    codes = _codes()
    checks = sorted(name for name in nearest.keys() & codes.keys() if not name.startswith(_DEEDS))
    assert len(checks) > 1000
    open_ones = []
    for name, error in _chosen(checks):
        attack = nearest[name][1]
        outcome = _broken_run(attack, codes[name], error)
        if not outcome.ok:
            open_ones.append(
                f"{name} raises {error.__name__}: {attack.id}: {outcome.note} ({outcome.error[:80]})"
            )
    assert not open_ones, "\n".join(open_ones)


def _chosen(checks: list[str]) -> Iterator[tuple[str, type[Exception]]]:
    """The functions to break, and by what."""
    for name in checks:
        number = zlib.crc32(name.partition(":")[0].encode())
        if _ALL:
            yield from ((name, error) for error in _ERRORS)
        elif number % 8 == 0:
            yield name, _ERRORS[number // 4 % len(_ERRORS)]


@pytest.mark.usefixtures("_ready")
def test_a_check_that_is_open_when_it_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without what ends the run where an estimate fails."""
    [attack] = [each for each in sandbox_cases.attacks() if each.id == "m-geonodes-grid"]
    code = estimate._tree.__code__
    assert _broken_run(attack, code, RuntimeError).ok
    for name, method in list(vars(Geometry).items()):
        if hasattr(method, "__wrapped__"):
            monkeypatch.setattr(Geometry, name, inspect.unwrap(method))
    assert not _broken_run(attack, code, RuntimeError).ok
