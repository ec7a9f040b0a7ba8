# SPDX-License-Identifier: GPL-3.0-or-later
"""Forks of the warm Blender: what comes back, and what never does."""

from __future__ import annotations

import os
import platform
import random
import signal
import time
import zlib
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import LimitExceeded

from support.running import fork


def test_result_comes_back_and_the_scene_does_not() -> None:
    before = len(bpy.data.objects)

    def build() -> list[str]:
        bpy.ops.mesh.primitive_monkey_add()
        bpy.context.object.modifiers.new("Subdivision", "SUBSURF").levels = 3
        evaluated = bpy.context.object.evaluated_get(bpy.context.evaluated_depsgraph_get())
        return [bpy.context.object.name, str(len(evaluated.data.vertices) > 1000)]

    assert fork.run(build) == ["Suzanne", "True"]
    assert len(bpy.data.objects) == before


def test_large_result_comes_back_whole() -> None:
    assert len(fork.run(lambda: b"x" * 5_000_000)) == 5_000_000


def test_an_error_with_other_arguments_than_its_message_comes_back() -> None:
    def fail() -> None:
        raise LimitExceeded("too long", limit="time", line=3)

    with pytest.raises(LimitExceeded, match=r"^too long") as caught:
        fork.run(fail)
    assert (caught.value.limit, caught.value.line) == ("time", 3)


def test_exception_is_raised_here_with_the_childs_traceback() -> None:
    def fail() -> None:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing") as caught:
        fork.run(fail)
    assert "in fail" in caught.value.__notes__[0]


def test_what_cannot_be_sent_back_is_said() -> None:
    with pytest.raises(TypeError, match=r"cannot send <function .* back from the child"):
        fork.run(lambda: lambda: None)


def test_signal_is_reported() -> None:
    with pytest.raises(fork.Died, match="died by SIGKILL") as caught:
        fork.run(lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert caught.value.signal is signal.SIGKILL


def test_leaving_the_process_is_reported() -> None:
    with pytest.raises(fork.Died, match="exit code 7"):
        fork.run(lambda: os._exit(7))


def test_time_limit_kills_the_child() -> None:
    started = time.monotonic()
    with pytest.raises(fork.TimedOut, match=r"after 0\.2 s"):
        fork.run(time.sleep, 30, timeout=0.2)
    assert time.monotonic() - started < 5


def test_blender_works_without_workers() -> None:
    """A fork that is taken while a worker of Blender's task pool holds a lock waits for it for ever."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    all_threads, this_thread = time.process_time(), time.thread_time()
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=400, y_subdivisions=400)
    bpy.context.object.modifiers.new("smoother", "SUBSURF")
    bpy.context.view_layer.update()
    all_threads, this_thread = time.process_time() - all_threads, time.thread_time() - this_thread
    assert all_threads - this_thread < 0.1 * this_thread


def test_each_case_answers_by_itself_and_a_crash_is_that_of_its_case() -> None:
    def answer(case: str) -> tuple[str, int]:
        match case:
            case "raises":
                raise LookupError("no such thing")
            case "crashes":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hangs":
                time.sleep(60)
        return case, os.getpid()

    cases = ["a", "raises", "b", "crashes", "c", "hangs", "d"]
    a, raised, b, crashed, c, hung, d = fork.run_each(answer, cases, timeout=1.0)
    assert [each[0] for each in (a, b, c, d)] == ["a", "b", "c", "d"]
    assert [type(each) for each in (raised, crashed, hung)] == [LookupError, fork.Died, fork.TimedOut]
    assert a[1] == b[1]
    assert len({a[1], c[1], d[1], os.getpid()}) == 4


def test_huge_pages_hold_what_a_fork_shares_and_it_stays_as_it_was() -> None:
    def in_huge_pages_kb() -> int:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages:"))

    data = random.Random(1).randbytes(16 << 20)
    number = zlib.crc32(data)
    fork.make_cheap()
    assert zlib.crc32(data) == number
    assert fork.run(lambda: zlib.crc32(data)) == number
    if tuple(map(int, platform.release().split(".")[:2])) >= (6, 1):
        assert in_huge_pages_kb() > 12 << 10
