# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of a process that was started once: how they begin, how they end, and what may be copied.

What holds a copy is tried in `test_means.py`, with every other means.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.confinement import supervisor as supervisor_module
from bl_ext.user_default.mcp_bridge.sandbox.confinement.linux import forking
from bl_ext.user_default.mcp_bridge.sandbox.confinement.platforms import candidates, zygote

from support.confinement.copies import Copied
from support.running.processes import alive, resident

from .conftest import Bench

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux's processes are copied")


@pytest.fixture
def copied() -> Iterator[Copied]:
    means = Copied()
    yield means
    means.close()


@pytest.fixture
def bench(make_bench: Callable[..., Bench], copied: Copied, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(supervisor_module, "candidates", lambda mode: [copied])
    bench = make_bench()
    bench.supervisor.means()
    return bench


@pytest.mark.parametrize(
    ("code", "exit_code", "number"),
    [
        ("raise SystemExit(7)", 7, None),
        ("print('done')", 0, None),
        ("import os; os.abort()", None, signal.SIGABRT),
        ("import os; os.kill(os.getpid(), 9)", 1, None),  # it may send no signal, not even to itself
    ],
)
def test_how_a_copy_has_ended_is_told(
    code: str, exit_code: int | None, number: int | None, bench: Bench
) -> None:
    status, _ = bench.run(code)
    assert (status.exit_code, status.signal) == (exit_code, number)


def test_whoever_asks_for_a_copy_that_another_thread_forgot_hears_that_it_ended() -> None:
    ours, theirs = socket.socketpair()
    with theirs, open(os.devnull, "rb") as nothing:
        ours.setblocking(False)
        forked = forking.Forked(0, nothing, nothing, ours)
        assert forked.poll() is None
        forked.forget()
        assert forked.poll() == -signal.SIGKILL


def test_a_copy_that_was_killed_is_told_from_one_that_left(bench: Bench) -> None:
    with bench.waiting() as pid:
        os.kill(pid, signal.SIGKILL)
        assert bench.wait_for(lambda: not alive(pid))


def test_a_copy_has_nothing_open_of_the_one_before_it(bench: Bench) -> None:
    code = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
    with bench.waiting():
        _, first = bench.run(code)
    assert first.splitlines()[-1] in ("[0, 1, 2, 3]", "[0, 1, 2, 3, 4]")  # the folder itself is open


def test_copies_end_with_what_they_were_copied_from(bench: Bench, copied: Copied) -> None:
    with bench.waiting() as pid:
        os.kill(copied._started.popen.pid, signal.SIGKILL)
        assert bench.wait_for(lambda: not alive(pid))


def test_a_zygote_that_is_gone_starts_nothing_and_says_so(bench: Bench, copied: Copied) -> None:
    copied.close()
    status, _ = bench.run("print('started')")
    assert (status.reason, status.detail) == ("not started", "the process that was to be copied has ended")


def test_one_that_retires_lets_its_copies_come_to_their_end(bench: Bench, copied: Copied) -> None:
    handle = bench.start("import sys; print('ready', flush=True); sys.stdin.readline()", answers=True)
    assert bench.wait_for(lambda: "ready" in bench.supervisor.chatter(handle))
    copied._zygote.retire()
    assert alive(copied._started.popen.pid)
    bench.supervisor.send(handle, b"go on")
    assert bench.supervisor.wait(handle, 30.0).exit_code == 0
    assert bench.wait_for(lambda: copied._started.popen.poll() == 0)


def test_many_copies_leave_no_file_and_no_memory_behind(bench: Bench, copied: Copied) -> None:
    def left() -> tuple[int, int]:
        pid = copied._started.popen.pid
        return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir("/proc/self/fd"))

    before, memory = left(), resident(copied._started.popen.pid)
    for _ in range(20):
        assert bench.run("pass")[0].exit_code == 0
    assert bench.wait_for(lambda: left() <= before), f"{left()} files are open, and {before} were"
    assert resident(copied._started.popen.pid) - memory < 2**20


_UNFIT = """
import importlib, sys, types
package = types.ModuleType("supervisor")
package.__path__ = [sys.argv[1]]
sys.modules["supervisor"] = package
zygote = importlib.import_module("supervisor.linux.zygote")
zygote._ENDING_S = 0.1
exec(sys.argv[2])
print(zygote.unfit())
"""


def _unfit(code: str) -> str:
    folder = Path(supervisor_module.__file__).parent
    command = (sys.executable, "-I", "-S", "-B", "-c", _UNFIT, folder, code)
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def test_what_has_one_thread_and_shares_no_memory_can_be_copied() -> None:
    assert _unfit("pass") == ""


def test_what_has_more_threads_cannot() -> None:
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    assert _unfit(code).startswith("it has 2 threads (")


def test_what_shares_memory_cannot() -> None:
    assert _unfit("import mmap\nshared = mmap.mmap(-1, 4096)").startswith("it shares memory: ")


def test_only_where_the_kernel_itself_confines_copies_are_made() -> None:
    kinds = {means.name: zygote(means) is not None for means in candidates(None)}
    assert kinds.pop("Landlock and seccomp")
    assert not any(kinds.values())


def test_a_copy_is_given_no_hosts(bench: Bench, tmp_path: Path) -> None:
    status, _ = bench.run("pass", net_policy="allow-list", allowed_hosts=("example.org",))
    assert (status.reason, status.detail) == (
        "not started",
        "a copy of a process cannot be given a list of allowed hosts",
    )
