# SPDX-License-Identifier: GPL-3.0-or-later
"""The shared cases and our own: every attack is stopped, every honest script passes, each in a Blender of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import parts

from support.running.warm import warm
from support.sandboxing import sandbox_cases
from support.sandboxing.sandbox_cases import Attack, Honest, plain, run_attack, run_honest

_QUICK = {"time_limit_s": 1.5}
#: What is to be endless is so after less, too.
_ENDLESS = {"time_limit_s": 0.5}
#: Some honest scripts take Blender itself longer, on a busy machine much longer.
_PATIENT = {"time_limit_s": 10.0}


@pytest.fixture(scope="module", autouse=True)
def _short_limit() -> Iterator[None]:
    """Scripts are stopped soon here, so that the whole catalogue is quick."""
    warm()
    settings.set_preferences(_QUICK)
    parts.prepare()
    yield
    settings.set_preferences({})


@contextmanager
def _limits(preferences: dict[str, float]) -> Iterator[None]:
    settings.set_preferences(preferences)
    try:
        yield
    finally:
        settings.set_preferences(_QUICK)


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("attack", sandbox_cases.attacks(), ids=lambda a: a.id)
def test_attack_is_stopped(attack: Attack) -> None:
    with _limits(_ENDLESS if attack.category == "dos-time" else _QUICK):
        outcome = run_attack(attack)
    assert outcome.ok, f"{attack.harm}: {outcome.note} ({outcome.error})"


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("case", sandbox_cases.honest(), ids=lambda c: c.id)
def test_honest_script_passes(case: Honest) -> None:
    """A script that plain Blender of this version cannot run does not count."""
    with _limits(_PATIENT):
        outcome = run_honest(case)
    assert outcome.ok or not run_honest(case, plain).ok, f"{outcome.note}: {outcome.error}"


def test_there_are_enough_cases() -> None:
    own = [c for c in sandbox_cases.honest() if "-" not in c.id]
    assert len(sandbox_cases.attacks()) >= 114 + 150
    assert len(own) >= 60


@pytest.mark.parametrize(
    ("code", "detect"),
    [
        ("open('@CANARY@', 'w')", "file:@CANARY@"),
        ("import os; os.remove('@VICTIM@')", "nofile:@VICTIM@"),
        ("RESULT = open('@SECRET@').read()", "leak:SBX-SECRET-7f3a"),
        ("import bpy; bpy.context.scene.frame_start = 77", "expr:bpy.context.scene.frame_start == 77"),
        ("import os; os.abort()", "crash"),
        ("raise SystemExit", "raises:SystemExit"),
        ("import socket; socket.create_connection(('127.0.0.1', @PORT@))", "net"),
        ("print('x' * 3_000_000)", "out:2"),
    ],
)
def test_harness_sees_harm(code: str, detect: str) -> None:
    """The harness itself: what does harm in plain Blender is noticed."""
    assert not run_attack(Attack("probe", "harness", code, "harm", detect), plain).ok
