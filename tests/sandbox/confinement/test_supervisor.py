# SPDX-License-Identifier: GPL-3.0-or-later
"""Real processes: their limits, their ends, and what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError, InvalidParamsError
from bl_ext.user_default.mcp_bridge.sandbox import confinement as process_api
from bl_ext.user_default.mcp_bridge.sandbox.confinement import means
from bl_ext.user_default.mcp_bridge.sandbox.confinement import running as running_module
from bl_ext.user_default.mcp_bridge.sandbox.confinement import supervisor as supervisor_module
from bl_ext.user_default.mcp_bridge.sandbox.confinement.config import Config, Supervision
from bl_ext.user_default.mcp_bridge.sandbox.confinement.folder import RunFolder
from bl_ext.user_default.mcp_bridge.sandbox.confinement.process import ProcessHandle, ProcessStatus
from bl_ext.user_default.mcp_bridge.sandbox.confinement.running import Running
from bl_ext.user_default.mcp_bridge.sandbox.confinement.supervisor import Unconfined

from support.running import blender
from support.running.processes import alive, with_last_argument

#: Opens the pipe for answers, without the package that has a function for it.
ANSWERS = "import os\nanswers = os.fdopen(int(os.environ['MCP_BRIDGE_ANSWERS']), 'wb')\n"


class TestAcceptance:
    """The tests of the specification."""

    def test_a_short_process_is_running_and_then_exited_with_its_code(self, bench) -> None:
        handle = bench.start("import sys; input(); sys.exit(3)", answers=True)
        assert bench.supervisor.status(handle).state == "running"
        bench.supervisor.send(handle, b"go on")
        status = bench.supervisor.wait(handle, 30.0)
        assert (status.state, status.exit_code, status.reason) == ("exited", 3, None)
        assert status.start_time < status.end_time

    def test_a_long_process_is_killed_at_its_time_limit_and_recorded_as_timed_out(self, bench) -> None:
        bench.supervisor.means()
        begin = time.monotonic()
        status, _ = bench.run("import time; time.sleep(60)", timeout_sec=0.4)
        assert time.monotonic() - begin < 30
        assert (status.state, status.reason, status.exit_code) == ("failed", "timed out", None)
        assert not alive(status.pid)
        assert [record["reason"] for record in bench.events("process_ended")] == ["timed out"]

    def test_a_process_that_exceeds_its_memory_is_killed(self, bench) -> None:
        status, _ = bench.run("kept = []\nwhile True: kept.append(b'x' * 2**20)", mem_limit_mb=64)
        assert (status.state, status.reason) == ("failed", "out of memory")
        assert status.peak_memory_mb >= 64

    def test_one_huge_allocation_does_not_get_beyond_the_hard_limit(self, bench) -> None:
        status, output = bench.run("bytearray(8 * 2**30)", mem_limit_mb=64)
        assert (status.state, status.exit_code) == ("exited", 1)
        assert "MemoryError" in output


class TestTheInterfaceOfTheSpecification:
    def test_start_status_and_stop(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o711)
        work = tmp_path / "work"
        work.mkdir()
        journal.configure(tmp_path / "journal")
        try:
            handle = process_api.start_server_process(
                [sys.executable, "-c", "import time; time.sleep(60)"],
                timeout_sec=30,
                mem_limit_mb=128,
                net_policy="deny",
                workdir=str(work),
            )
            running = process_api.get_process_status(handle)
            process_api.stop_server_process(handle)
            stopped = process_api.get_process_status(handle)
            with pytest.raises(ValueError, match=r"net_policy is 'allow': use 'deny' or 'allow-list'"):
                process_api.start_server_process(["true"], net_policy="allow")
        finally:
            process_api.shutdown()
        assert (running.state, stopped.state, stopped.reason) == ("running", "exited", "stopped")
        assert not alive(stopped.pid)
        assert process_api.counts().running == 0

    def test_an_unknown_handle_is_an_error_that_says_so(self, bench) -> None:
        with pytest.raises(InvalidParamsError, match="There is no process 'nobody'"):
            bench.supervisor.status(ProcessHandle("nobody"))


class TestEnds:
    def test_a_signal_is_told_apart_from_a_limit(self, bench) -> None:
        status, _ = bench.run("import os; os.abort()")
        assert (status.state, status.reason, status.signal) == ("failed", "killed by signal", signal.SIGABRT)

    def test_a_program_that_does_not_exist_is_not_started(self, bench) -> None:
        status, _ = bench.run("", cmd=("/no/such/program",))
        assert (status.state, status.reason) == ("failed", "not started")
        assert "No such file or directory" in status.detail

    @pytest.mark.parametrize("seconds", [60.0, None], ids=["working", "waiting"])
    def test_a_process_that_fills_its_disk_with_many_files_is_killed(self, bench, seconds) -> None:
        code = "import time\nfor n in range(200):\n    open(str(n), 'wb').write(b'x' * 2**20)\ntime.sleep(30)"
        status, _ = bench.run(code, disk_mb=16, timeout_sec=seconds)
        assert (status.state, status.reason) == ("failed", "disk full")

    @pytest.mark.parametrize(
        "held",
        ["kept.append(f)", "kept.append(mmap.mmap(f.fileno(), 0)); f.close()"],
        ids=["open", "mapped"],
    )
    def test_removed_files_that_are_held_count_too(self, bench, held: str) -> None:
        code = f"""
            import mmap, os
            kept = []
            while True:
                f = open("f", "wb+")
                f.write(b"x" * 2**20)
                f.flush()
                os.unlink("f")
                {held}
        """
        with bench.waiting() as pid:
            try:
                os.stat(f"/proc/{pid}/fd/1")
            except PermissionError:
                pytest.skip("this user may not see what its confined processes have open (no CAP_SYS_PTRACE)")
        status, output = bench.run(code, disk_mb=16, mem_limit_mb=2048, timeout_sec=60.0)
        assert (status.state, status.reason) == ("failed", "disk full"), output

    @pytest.mark.parametrize(
        "code",
        [
            "n = 0\nwhile True:\n    n += 1\n    open(str(n), 'w').close()",
            "import os\nwhile True:\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)",
        ],
        ids=["empty files", "a deep tree"],
    )
    def test_what_takes_no_bytes_has_an_end_too(self, bench, code: str) -> None:
        status, output = bench.run(code, disk_mb=16, timeout_sec=60.0)
        assert (status.state, status.reason) == ("failed", "disk full"), output

    def test_threads_without_end_are_stopped(self, bench) -> None:
        code = """
            import threading, time
            threading.stack_size(65536)
            try:
                while True:
                    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
            except RuntimeError:  # on a busy machine the kernel's own limit comes before the next look
                time.sleep(100)
        """
        status, _ = bench.run(code, mem_limit_mb=4096, timeout_sec=60.0)
        assert (status.state, status.reason) == ("failed", "too many threads")

    def test_no_single_file_gets_longer_than_the_limit(self, bench) -> None:
        _, output = bench.run("f = open('f', 'wb')\nwhile True: f.write(b'x' * 2**20)", disk_mb=16)
        assert "File too large" in output

    def test_a_flood_of_answers_is_cut_off(self, bench) -> None:
        code = ANSWERS + "while True: answers.write(b'x' * 100 + b'\\n')"
        status, _ = bench.run(code, answers=True)
        assert (status.state, status.reason) == ("failed", "flooded")

    def test_a_flood_of_chatter_keeps_its_end(self, bench) -> None:
        _, output = bench.run("for n in range(200000): print(n)")
        assert output.endswith("199999\n")
        assert len(output) <= 64 * 1024

    def test_stop_ends_a_process_that_does_not_want_to(self, bench) -> None:
        code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
        handle = bench.start(code)
        assert bench.wait_for(lambda: "ready" in bench.supervisor.chatter(handle))
        bench.supervisor.stop(handle)
        status = bench.supervisor.status(handle)
        assert (status.state, status.reason, status.signal) == ("exited", "stopped", signal.SIGKILL)

    def test_a_time_limit_may_be_given_later(self, bench) -> None:
        handle = bench.start("import time; time.sleep(60)", timeout_sec=None)
        bench.supervisor.limit_time(handle, 0.3)
        assert bench.supervisor.wait(handle, 30.0).reason == "timed out"


class TestTalking:
    def test_lines_go_both_ways_and_chatter_stays_apart(self, bench) -> None:
        code = ANSWERS + textwrap.dedent("""
            import sys
            for line in sys.stdin:
                print("x", file=sys.stderr)
                print("y")
                answers.write(b"heard " + line.encode())
                answers.flush()
        """)
        handle = bench.start(code, answers=True)
        bench.supervisor.send(handle, b"one")
        assert bench.supervisor.receive(handle, 10.0) == b"heard one\n"
        with pytest.raises(TimeoutError):
            bench.supervisor.receive(handle, 0.05)
        bench.supervisor.kill(handle)
        assert bench.supervisor.receive(handle, 10.0) is None
        assert bench.supervisor.receive(handle, 10.0) is None, "the end stays the end"
        assert bench.supervisor.chatter(handle) == "x\n"  # what it printed itself was still in its buffer
        assert bench.supervisor.last_words(handle) == "; it printed last: “x”"
        with pytest.raises(OSError, match="Broken pipe"):
            bench.supervisor.send(handle, b"two")


class TestRestarts:
    CONFIG = Config(supervisor=Supervision("on-failure", backoff_seconds=0.05))

    def test_what_fails_is_started_again_later_and_later(self, make_bench) -> None:
        bench = make_bench(self.CONFIG)
        begin = time.monotonic()
        handle = bench.start("import sys; sys.exit(1)", restart_policy="on-failure")
        assert bench.wait_for(lambda: bench.supervisor.status(handle).restarts >= 3)
        assert time.monotonic() - begin > 0.05 + 0.1 + 0.2
        bench.supervisor.kill(handle)
        counts = bench.supervisor.counts()
        assert counts.started == 1
        assert counts.restarts >= 3
        assert counts.failed_restarts >= 2
        assert counts.running == 0

    def test_what_ends_well_is_left_alone(self, make_bench) -> None:
        bench = make_bench(self.CONFIG)
        status, _ = bench.run("pass", restart_policy="on-failure")
        assert (status.state, status.restarts, bench.supervisor.counts().restarts) == ("exited", 0, 0)

    def test_always_means_always_until_stopped(self, make_bench) -> None:
        bench = make_bench(self.CONFIG)
        handle = bench.start("pass", restart_policy="always")
        assert bench.wait_for(lambda: bench.supervisor.status(handle).restarts >= 2)
        bench.supervisor.stop(handle)
        assert bench.supervisor.status(handle).reason == "stopped"


class TestNothingIsLeft:
    def test_close_ends_everything_and_removes_every_folder(self, bench) -> None:
        handles = [bench.start("import time; time.sleep(60)") for _ in range(3)]
        pids = [bench.supervisor.status(handle).pid for handle in handles]
        bench.supervisor.close()
        assert not any(alive(pid) for pid in pids)
        assert not list(bench.base.iterdir())
        with pytest.raises(ExternalServiceError, match="The supervisor is closed"):
            bench.start("pass")

    @pytest.mark.parametrize("mode", ["unprivileged", "container"])
    def test_a_killed_parent_takes_its_processes_along(
        self, mode: str, make_bench: Callable, tmp_path: Path
    ) -> None:
        if mode == "container":
            if os.geteuid() != 0:
                pytest.skip("only root sees what another user's container does")
            try:
                make_bench(mode=mode).supervisor.means()
            except Unconfined as reason:
                pytest.skip(f"no container works here: {reason}")
        tmp_path.chmod(0o711)
        sleep = f"import time; time.sleep(60); {tmp_path.name!r}"
        code = f"""
import sys, time
from pathlib import Path
from {blender.EXTENSION}.base import journal
from {blender.EXTENSION}.sandbox import confinement
from {blender.EXTENSION}.sandbox.confinement.config import Config, Sandbox
journal.configure(Path({str(tmp_path)!r}) / "journal")
confinement.configure(Config(Sandbox(mode={mode!r}, workdir_base=Path({str(tmp_path)!r}) / "runs")))
handle = confinement.start_server_process([sys.executable, "-c", {sleep!r}])
while not confinement.get_process_status(handle).confinement.in_force:
    time.sleep(0.01)
print("STARTED", flush=True)
time.sleep(60)
"""
        parent = subprocess.Popen(
            blender.command(code), env=blender.environment(tmp_path), stdout=subprocess.PIPE, text=True
        )
        with parent:
            assert parent.stdout is not None
            assert any(line.startswith("STARTED") for line in parent.stdout)
            until = time.monotonic() + 30.0
            while not with_last_argument(
                sleep
            ):  # the launcher has told that it holds, and becomes the command
                assert time.monotonic() < until
                time.sleep(0.01)
            os.kill(parent.pid, signal.SIGKILL)
        until = time.monotonic() + 30.0
        while with_last_argument(sleep) and time.monotonic() < until:
            time.sleep(0.05)
        assert with_last_argument(sleep) == []

    def test_the_next_supervisor_removes_what_a_dead_one_left(
        self, make_bench: Callable, tmp_path: Path
    ) -> None:
        bench = make_bench()
        dead = bench.base / "mcp-run-dead"
        dead.mkdir(parents=True)
        (dead / "lock").touch()
        (dead / "rest").write_text("left")
        bench.run("pass")
        assert not dead.exists()

    def test_another_supervisor_at_work_is_left_alone(self, make_bench: Callable) -> None:
        first = make_bench()
        handle = first.start("import time; time.sleep(60)")
        second = make_bench(workdir_base=first.base)
        second.run("pass")
        assert first.supervisor.status(handle).state == "running"


class TestOneThread:
    """What goes wrong or takes long on the supervisor's thread, which everybody waits for."""

    def test_it_goes_on_when_what_nobody_waits_for_fails(
        self, bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(self: RunFolder) -> None:
            raise OSError("no port is free")

        with monkeypatch.context() as patch:
            patch.setattr(RunFolder, "canary", fail)
            bench.supervisor.find_out()
            with pytest.raises(OSError, match="no port is free"):
                bench.supervisor.canary()
        status, _ = bench.run("pass")
        assert status.exit_code == 0

    def test_closing_does_not_wait_for_a_trial(self, bench, monkeypatch: pytest.MonkeyPatch) -> None:
        started: list[int] = []

        class Endless:
            name, wraps, needs_namespaces = "an endless trial", False, False

            def start(self, spec, place):
                waits = [sys.executable, "-c", "import time; time.sleep(120)"]
                found = means.Started(means.popen(waits, spec), None)
                started.append(found.popen.pid)
                return found

        monkeypatch.setattr(supervisor_module, "candidates", lambda mode: [Endless()])
        bench.supervisor.find_out()
        assert bench.wait_for(lambda: started != [])
        bench.supervisor.close()  # waits for 10 s at most, and the trial may take 30
        assert not alive(started[0])
        assert not bench.supervisor._thread.is_alive()
        assert bench.supervisor.unconfined() == "", "broken off is not found out"

    def test_many_are_ended_together(self, bench) -> None:
        waits = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
        handles = [bench.start(waits) for _ in range(5)]
        pids = [bench.supervisor.status(handle).pid for handle in handles]
        bench.supervisor.close()
        assert [pid for pid in pids if alive(pid)] == []
        assert {bench.supervisor.status(handle).reason for handle in handles} == {"stopped"}

    def test_two_threads_that_add_to_a_status_lose_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What the launcher tells and what is measured come at the same time."""

        def slowly(status: ProcessStatus, **known: object) -> ProcessStatus:
            time.sleep(0.001)
            return replace(status, **known)

        monkeypatch.setattr(running_module, "replace", slowly)
        running = Running(None, None, None, lambda: None, lambda _: None)  # type: ignore[arg-type]
        lost: list[str] = []

        def add(name: str) -> None:
            for number in range(20):
                running._add(**{name: number})
                time.sleep(0.002)
                if getattr(running.status, name) != number:
                    lost.append(name)

        threads = [threading.Thread(target=add, args=(name,)) for name in ("pid", "restarts", "signal")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert lost == []


def test_the_journal_has_what_was_run_and_how_it_ended_but_not_what_it_said(bench) -> None:
    bench.run("print('a secret')")
    [started], [ended] = bench.events("process_started"), bench.events("process_ended")
    assert started["program"] == Path(sys.executable).name
    assert started["network"] == "deny"
    assert (ended["process"], ended["state"], ended["exit_code"]) == (started["process"], "exited", 0)
    assert "secret" not in str(bench.records)


def test_each_restart_has_a_record_of_its_own_before_it(make_bench) -> None:
    bench = make_bench(TestRestarts.CONFIG)
    handle = bench.start("import sys; sys.exit(1)", restart_policy="on-failure")
    assert bench.wait_for(lambda: bench.supervisor.status(handle).restarts >= 2)
    bench.supervisor.kill(handle)
    own = [record for record in bench.records if record.get("process") == handle.id]
    assert [(one["event"], one["restarts"]) for one in own[:5]] == [
        ("process_started", 0),
        ("process_ended", 0),
        ("process_started", 1),
        ("process_ended", 1),
        ("process_started", 2),
    ]
    assert all(
        one["program"] == Path(sys.executable).name for one in own if one["event"] == "process_started"
    )


def test_a_restart_that_cannot_be_recorded_does_not_happen(make_bench) -> None:
    bench = make_bench(TestRestarts.CONFIG)
    record = bench.supervisor._journal

    def fail(event: str, **fields: object) -> None:
        if fields.get("restarts") == 1:
            raise journal.JournalError("The disk is full")
        record(event, **fields)

    bench.supervisor._journal = fail
    handle = bench.start("import sys; sys.exit(1)", restart_policy="always")
    status = bench.supervisor.wait(handle, 30.0)
    assert (status.state, status.reason, status.detail) == ("failed", "not started", "The disk is full")
    assert status.restarts == 0


def test_nothing_is_started_that_cannot_be_recorded(make_bench) -> None:
    bench = make_bench()

    def fail(event: str, **fields: object) -> None:
        raise journal.JournalError("The disk is full")

    bench.supervisor._journal = fail
    with pytest.raises(journal.JournalError, match="The disk is full"):
        bench.start("pass")
    assert bench.supervisor.counts().started == 0
