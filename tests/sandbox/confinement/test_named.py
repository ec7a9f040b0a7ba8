# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that a person has named: what they are given, and what ends them."""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.base.process import threads
from bl_ext.user_default.mcp_bridge.sandbox.confinement import named


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", code)


def test_what_it_prints_and_how_it_ends() -> None:
    done = named.run(
        python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), seconds=30
    )
    assert (done.code, done.output, done.errors) == (3, "out\n", "err\n")


def test_none_of_our_secrets_go_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_TOKEN", "secret")
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    given = json.loads(named.run(python(code), seconds=30, env={"SLURM_CONF": "/x"}).output)
    assert "BLENDER_MCP_TOKEN" not in given
    assert given["SLURM_CONF"] == "/x"
    assert set(given) - {"SLURM_CONF", "LC_CTYPE"} <= set(named._PASSED_ON)


def test_one_that_hangs_is_stopped() -> None:
    begin = time.monotonic()
    with pytest.raises(ExternalServiceError, match=r"was stopped: it took more than 0\.5 s"):
        named.run(python("import time; time.sleep(600)"), seconds=0.5)
    assert time.monotonic() - begin < 30


def test_one_that_floods_is_stopped() -> None:
    with pytest.raises(ExternalServiceError, match="was stopped: it printed more than 64 KiB"):
        named.run(python("while True: print('x' * 1000)"), seconds=60, most=64 << 10)


def test_one_that_hangs_ends_with_blender() -> None:
    hangs = partial(named.run, python("import time; time.sleep(600)"), seconds=600)
    waits = threads.start(hangs, name="test")
    while not named._running:
        waits.join(0.05)
    named.interrupt()
    waits.join(30)
    assert not waits.is_alive()


def test_one_that_is_not_there() -> None:
    with pytest.raises(ExternalServiceError, match="nothing could not be started: No such file"):
        named.run(("/nowhere/nothing",), seconds=1)


def test_one_that_outlasts_us_is_found_by_its_lock_and_ended(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    pid = named.start(python("import time; time.sleep(600)"), log=tmp_path / "log", lock=lock)
    try:
        child = named._children.pop(pid)  # as after a restart: nobody knows it but by its lock
        assert named.lives(pid, lock)
        assert not named.lives(pid, tmp_path / "other")
    finally:
        named._children[pid] = child
        named.end(pid, lock)
    assert not named.lives(pid, lock)
