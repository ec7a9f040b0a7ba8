# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits by control groups: of a real kernel where a group can be made here, and over folders that look like one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("control groups are Linux's", allow_module_level=True)

from bl_ext.user_default.mcp_bridge.sandbox.confinement import means
from bl_ext.user_default.mcp_bridge.sandbox.confinement.linux import cgroup

from .conftest import Bench

MB = 2**20
OLD = """\
30 24 0:26 / {top}/memory rw,relatime shared:9 - cgroup cgroup rw,memory
31 24 0:27 / {top}/pids rw,relatime - cgroup cgroup rw,pids
32 24 0:28 / {top}/unified rw,relatime - cgroup2 cgroup2 rw
"""
NEW = "24 1 0:22 {root} {top} rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def _group(folder: Path, passes_on: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.procs").touch()
    (folder / "cgroup.subtree_control").write_text(passes_on)
    return folder


class TestHomes:
    """Over folders that look like the kernel's."""

    def test_each_old_hierarchy_has_its_own(self, tmp_path: Path) -> None:
        memory = _group(tmp_path / "memory" / "box")
        pids = _group(tmp_path / "pids")
        found = cgroup.homes(OLD.format(top=tmp_path), "4:memory:/box\n8:pids:/\n3:cpuset:/\n0::/\n")
        assert found == {"memory": cgroup.Home(memory, 1), "pids": cgroup.Home(pids, 1)}

    def test_what_systemd_hands_over_to_a_user_is_found_above(self, tmp_path: Path) -> None:
        """An app's own group holds processes, so none with limits can be below it; beside it they can."""
        apps = _group(tmp_path / "user.slice" / "user@1000.service" / "app.slice", "memory pids\n")
        _group(apps / "app-blender.scope")
        groups = "0::/user.slice/user@1000.service/app.slice/app-blender.scope\n"
        found = cgroup.homes(NEW.format(root="/", top=tmp_path), groups)
        assert found == {"memory": cgroup.Home(apps, 2), "pids": cgroup.Home(apps, 2)}

    def test_a_group_of_somebody_else_is_passed_over(self, tmp_path: Path) -> None:
        slice_ = tmp_path / "user.slice"
        slice_.mkdir()
        (slice_ / "cgroup.subtree_control").write_text("memory pids")  # and no cgroup.procs to write to
        _group(slice_ / "session-3.scope")
        assert cgroup.homes(NEW.format(root="/", top=tmp_path), "0::/user.slice/session-3.scope\n") == {}

    def test_one_controller_alone_is_better_than_none(self, tmp_path: Path) -> None:
        _group(tmp_path, "cpu pids")
        found = cgroup.homes(NEW.format(root="/", top=tmp_path), "0::/\n")
        assert found == {"pids": cgroup.Home(tmp_path, 2)}

    @pytest.mark.parametrize(
        ("root", "path", "below"),
        [
            ("/docker/7f", "/docker/7f", ""),
            ("/docker/7f", "/docker/7f/a", "a"),
            ("/docker/7f", "/docker/7", None),
            ("/", "/../other", None),
        ],
    )
    def test_a_container_sees_a_part_of_it(
        self, tmp_path: Path, root: str, path: str, below: str | None
    ) -> None:
        _group(tmp_path / (below or ""), "memory pids")
        found = cgroup.homes(NEW.format(root=root, top=tmp_path), f"0::{path}\n")
        assert found.get("memory") == (None if below is None else cgroup.Home(tmp_path / below, 2))


class TestOverFolders:
    """A group of the other version than this kernel's may be, in folders that nobody keeps to."""

    @pytest.fixture
    def proc(self, tmp_path: Path) -> Path:
        proc = tmp_path / "proc"
        proc.mkdir()
        (proc / "mountinfo").write_text(NEW.format(root="/", top=tmp_path / "groups"))
        (proc / "cgroup").write_text("0::/app.slice/blender.scope\n")
        _group(_group(tmp_path / "groups" / "app.slice", "memory pids") / "blender.scope")
        return proc

    def test_limits_are_written_before_anything_goes_in(self, proc: Path, tmp_path: Path) -> None:
        made = cgroup.make(300, proc)
        folder = made.parts["memory"].folder
        assert folder.parent == tmp_path / "groups" / "app.slice"
        assert made.parts["pids"].folder == folder
        written = {file.name: file.read_text() for file in folder.iterdir()}
        assert written == {"memory.max": str(300 * MB), "memory.swap.max": "0", "pids.max": "4096"}

    def test_what_nobody_keeps_to_is_not_said_to_be_limited(self, proc: Path) -> None:
        made = cgroup.make(300, proc)
        folder = made.parts["memory"].folder
        (folder / "cgroup.procs").touch()
        for name in ("memory.current", "pids.current"):
            (folder / name).write_text("0")
        with made.entrance() as entrance:
            numbers = [*entrance["join"], entrance["memory"], entrance["threads"]]
            copies = dict(zip(numbers, (os.dup(number) for number in numbers), strict=True))
        inherited = cgroup.Entrance(
            join=[copies[number] for number in entrance["join"]],
            memory=copies[entrance["memory"]],
            threads=copies[entrance["threads"]],
        )
        assert cgroup.enter(inherited) == []
        assert (folder / "cgroup.procs").read_text() == "0"

    def test_the_kernel_tells_that_it_ended_something(self, proc: Path) -> None:
        made = cgroup.make(300, proc)
        events = made.parts["memory"].folder / "memory.events"
        events.write_text("low 0\nhigh 0\nmax 7\noom 0\noom_kill 0\n")
        assert not made.ran_out()
        events.write_text("low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n")
        assert made.ran_out()

    def test_a_start_that_fails_leaves_no_group(self, proc: Path) -> None:
        made = cgroup.make(300, proc)
        folder = made.parts["memory"].folder
        for file in folder.iterdir():  # the kernel's own files are no hindrance
            file.unlink()
        with pytest.raises(FileNotFoundError), made.entrance():
            pytest.fail("there is nothing to go in by")
        assert not folder.exists()

    def test_without_a_home_there_is_none_and_nothing_to_inherit(self, proc: Path) -> None:
        (proc / "cgroup").write_text("0::/elsewhere\n")
        made = cgroup.make(300, proc)
        assert made == cgroup.Group()
        with made.entrance() as entrance:
            assert entrance == cgroup.NOWHERE
        assert cgroup.enter(cgroup.NOWHERE) == []
        assert not made.ran_out()


#: Goes into a group by what it inherits, tells what is limited there, and then tries to have more.
INSIDE = """
import threading
from supervisor.linux import cgroup
def main(entrance):
    print(json.dumps(cgroup.enter(json.loads(entrance))), flush=True)
    {more}
"""


def _inside(group: cgroup.Group, more: str) -> subprocess.CompletedProcess[str]:
    code = (
        f"import json, sys, types; package = types.ModuleType('supervisor'); "
        f"package.__path__ = [{str(Path(means.__file__).parent)!r}]; sys.modules['supervisor'] = package\n"
        + INSIDE.format(more=textwrap.indent(textwrap.dedent(more), "    ").strip())
        + "\nmain(sys.argv[1])"
    )
    with group.entrance() as entrance:
        numbers = [*entrance["join"], entrance["memory"], entrance["threads"]]
        return subprocess.run(
            [sys.executable, "-I", "-S", "-c", code, json.dumps(entrance)],
            pass_fds=[number for number in numbers if number is not None],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


class TestForReal:
    """Needs a machine where this process may make groups: root on most, or a user of a systemd session."""

    @pytest.fixture(autouse=True)
    def _left(self) -> Iterator[None]:
        homes = cgroup.make(1)
        homes.remove()
        if not homes.parts:
            pytest.skip(
                "no control group can be made here, so none is used: the other limits are tried elsewhere"
            )
        yield
        left = [path for part in homes.parts.values() for path in part.folder.parent.glob("mcp-bridge-*")]
        assert [path for path in left if f"-{os.getpid()}-" in path.name] == []

    def test_a_process_is_limited_and_the_status_says_so(self, bench: Bench) -> None:
        status, _ = bench.run("print('x')")
        assert ", in a control group that limits " in status.confinement.means
        assert bench.supervisor.confinement().means == status.confinement.means

    def test_memory_is_limited_by_the_kernel_itself(self) -> None:
        """Nobody polls here."""
        group = cgroup.make(64)
        if "memory" not in group.parts:
            group.remove()
            pytest.skip("memory is not counted in groups here")
        done = _inside(group, "kept = [bytearray(b'x') * 2**20 for _ in range(200)]")
        assert "memory" in json.loads(done.stdout)
        assert done.returncode == -signal.SIGKILL
        assert group.ran_out()
        group.remove()

    def test_threads_are_limited_by_the_kernel_itself(self) -> None:
        group = cgroup.make(512)
        if "pids" not in group.parts:
            group.remove()
            pytest.skip("threads are not counted in groups here")
        (group.parts["pids"].folder / "pids.max").write_text("100")
        more = """
            threading.stack_size(65536)
            over, started = threading.Event(), 0
            try:
                for started in range(200):
                    threading.Thread(target=over.wait, daemon=True).start()
            except RuntimeError:
                print(started, flush=True)
            over.set()
        """
        done = _inside(group, more)
        first, *rest = done.stdout.splitlines()
        assert "threads" in json.loads(first)
        assert [int(number) for number in rest] == [99], "and the process's own"
        assert done.returncode == 0
        group.remove()

    def test_what_is_still_in_a_group_goes_with_it(self) -> None:
        group = cgroup.make(64)
        waits = (
            "import os, sys, time; os.write(int(sys.argv[1]), b'0'); print('in', flush=True); time.sleep(60)"
        )
        with group.entrance() as entrance:
            join = entrance["join"][0]
            inside = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", waits, str(join)], pass_fds=[join], stdout=subprocess.PIPE
            )
        with inside:
            assert inside.stdout is not None
            assert inside.stdout.readline() == b"in\n"
            group.remove()
            assert inside.wait(10) == -signal.SIGKILL
        group.remove()

    def test_the_next_one_removes_what_a_killed_blender_left(self) -> None:
        found = cgroup.make(1)
        found.remove()
        homes = {part.folder.parent for part in found.parts.values()}
        left = [
            home / "mcp-bridge-4999999-0123456789abcdef" for home in homes
        ]  # no process has such a number
        for folder in left:
            folder.mkdir(exist_ok=True)
        cgroup.make(1).remove()
        assert [folder for folder in left if folder.exists()] == []
