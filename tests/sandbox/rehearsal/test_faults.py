# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts that have got past every wall inside the child: only the operating system holds them (`bare_child`)."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox import confinement
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import pool as pools
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import prepare, rehearse
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal.pool import Pool

from support.confinement.confined_attacks import run_confined
from support.confinement.rehearsing import bare_program, rehearsals, report_of
from support.running import blender
from support.running.processes import alive
from support.sandboxing import sandbox_cases

#: Finds the pipe that answers go through, which the script has no business with.
ANSWERS = """
    import os, stat
    def answers():
        for fd in range(3, 64):
            try:
                if stat.S_ISFIFO(os.fstat(fd).st_mode):
                    yield fd
            except OSError:
                pass
    def say(data):
        for fd in answers():
            try:
                os.write(fd, data)
            except OSError:
                pass
"""


@pytest.fixture(scope="module", autouse=True)
def _rehearsals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "find", bare_program)
        patch.setattr(Pool, "warm", lambda self, needs: None)  # a cold child is there sooner than a warm one
        with rehearsals(tmp_path_factory.mktemp("faults"), disk_mb=64, blender_mem_mb=1024):
            yield


@pytest.fixture(autouse=True)
def _scene() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)


@pytest.fixture(params=["started by itself", "copied"])
def both_kinds(request: pytest.FixtureRequest) -> None:
    """The script runs once in a child that was started by itself, and once in a copy of a zygote."""
    prepared = prepare.prepare()
    if request.param == "copied":
        copies = prepared.pool._copies(prepared.needs, lambda: False)
        prepared.release()
        if copies is None:
            pytest.skip("this Blender has threads of its own, and is not copied: see test_rehearse.py")
    else:
        prepared.release()
        prepared.pool.renew()


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearse, "TIME_LIMIT_S", 0.7)
    monkeypatch.setattr(prepare, "_OVERHEAD_S", 0.7)


def _rejected(script: str) -> str:
    report = report_of(script)
    assert report["outcome"] == "rejected"
    assert "difference" not in report
    return report["message"]


@pytest.mark.usefixtures("both_kinds")
class TestFaults:
    def test_a_crash(self) -> None:
        said = _rejected("import os; os.write(2, b'a bad thing\\n'); os.abort()")
        began = f"The rehearsal was broken off: the confined Blender crashed (signal {int(signal.SIGABRT)}); "
        assert said.startswith(began + "it printed last: “")
        assert said.endswith(" a bad thing”.")

    def test_a_segmentation_fault(self) -> None:
        said = _rejected("import ctypes; ctypes.string_at(1)")
        assert "the confined Blender crashed" in said or "ended without an answer" in said

    def test_a_silent_exit(self) -> None:
        assert "ended without an answer (exit code 0)" in _rejected("import os; os._exit(0)")

    def test_a_hang(self, hurry: None) -> None:
        assert "took too long and was stopped" in _rejected("while True: pass")

    def test_a_hang_in_c_that_holds_the_interpreter(self, hurry: None) -> None:
        assert "took too long and was stopped" in _rejected("x = 7 ** (10 ** 8)")

    def test_memory_without_end(self) -> None:
        assert "needed more memory than it may have" in _rejected(
            "kept = []\nwhile True: kept.append(b'x' * (1 << 20))"
        )

    def test_a_disk_filled(self) -> None:
        script = """
            import os, tempfile
            n = 0
            while True:
                n += 1
                with open(os.path.join(tempfile.gettempdir(), str(n)), "wb") as f: f.write(b"x" * (1 << 20))
        """
        assert "wrote more than it may" in _rejected(script)

    def test_a_flood_on_standard_output(self, hurry: None) -> None:
        assert "took too long" in _rejected("import os\nwhile True: os.write(1, b'x' * 65536)")

    def test_a_flood_of_answers(self) -> None:
        assert "answered without end" in _rejected(ANSWERS + "\n    while True: say(b'x' * 65536)")

    @pytest.mark.parametrize("said", ["garbage", "[" * 100_000], ids=["text", "nested"])
    def test_a_garbled_answer(self, said: str) -> None:
        script = ANSWERS + f"\n    say({said!r}.encode() + b'\\n')\n    os._exit(0)"
        assert "cannot be understood" in _rejected(script)

    def test_a_forged_answer_is_as_good_as_any_other_but_bounded(self) -> None:
        """What a script says of itself can be a lie; that is why the live run keeps every wall."""
        big = """'{"outcome": "success", "stdout": "' + 'x' * 2_000_000 + '"}'"""
        assert "cannot be understood" in _rejected(
            ANSWERS + f"\n    say(({big}).encode() + b'\\n')\n    os._exit(0)"
        )

    def test_a_fork_a_thread_and_a_program(self) -> None:
        script = """
            import os, subprocess, threading
            tried = []
            for act in (os.fork, lambda: subprocess.run(["/bin/true"]), lambda: os.execv("/bin/true", ["true"])):
                try:
                    act()
                    tried.append("done")
                except OSError as error:
                    tried.append(type(error).__name__)
            thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
            RESULT = tried
        """
        assert report_of(script)["result"] == "['PermissionError', 'PermissionError', 'PermissionError']"

    def test_a_child_that_somebody_kills(self) -> None:
        over = threading.Event()

        def kill() -> None:
            while not over.wait(0.02):
                for running in list(confinement.current()._processes.values()):
                    if running.deadline is not None and running.status.state == "running":
                        with contextlib.suppress(ProcessLookupError):  # it was killed just now
                            os.kill(running.status.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        try:
            said = _rejected("while True: pass")
        finally:
            over.set()
            killer.join()
        assert "the confined Blender crashed (signal 9)" in said


def test_a_killed_blender_takes_its_children_along(tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    code = f"""
import sys, threading, time
from pathlib import Path
from {blender.EXTENSION}.sandbox import confinement
from {blender.EXTENSION}.sandbox.rehearsal import pool as pools, prepare, rehearse
from {blender.EXTENSION}.sandbox.confinement.config import Config, Sandbox
confinement.configure(Config(Sandbox(workdir_base=Path({str(tmp_path)!r}) / "runs")))
rehearse.rehearse(prepare.prepare(), "result = 1", pictures=False)
while not pools.current()._waiting: time.sleep(0.01)
for running in confinement.current()._all():
    if running.status.state == "running":
        print("WARM", running.status.pid, flush=True)
print("ALL", flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen(
        blender.command(code), env=blender.environment(tmp_path), stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdout is not None
        printed = itertools.takewhile(lambda line: line != "ALL\n", parent.stdout)
        started = [int(line.split()[1]) for line in printed if line.startswith("WARM")]
        os.kill(parent.pid, signal.SIGKILL)
    until = time.monotonic() + 30
    while any(map(alive, started)) and time.monotonic() < until:
        time.sleep(0.02)
    assert started
    assert not any(map(alive, started))


@pytest.mark.parametrize("after", [0.0, 0.3, 1.0])
def test_a_blender_that_is_closed_meanwhile_leaves_nothing(tmp_path: Path, after: float) -> None:
    """While a child starts, and while a script runs in it, one more rehearsal waiting."""
    tmp_path.chmod(0o711)
    code = f"""
import time
from pathlib import Path
from {blender.EXTENSION}.base.process import threads
from {blender.EXTENSION}.base.errors import BridgeError
from {blender.EXTENSION}.sandbox import confinement
from {blender.EXTENSION}.sandbox.rehearsal import pool as pools, prepare, rehearse
from {blender.EXTENSION}.sandbox.confinement.config import Config, Sandbox
confinement.configure(Config(Sandbox(workdir_base=Path({str(tmp_path)!r}) / "runs")))
def busy(prepared):
    try:
        rehearse.rehearse(prepared, "while True: pass", pictures=False)
    except BridgeError as error:
        pass
for _ in range(3):
    threads.start(busy, prepare.prepare(), name="busy")
time.sleep({after})
for running in confinement.current()._all():
    print("STARTED", running.status.pid, flush=True)
"""
    printed = blender.run(code, blender.environment(tmp_path))
    started = [int(line.split()[1]) for line in printed.splitlines() if line.startswith("STARTED")]
    assert started or not after
    assert [pid for pid in started if alive(pid)] == []
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.parametrize(
    ("scene", "most"),
    [
        ("", 100_000),
        ("image = bpy.data.images.new('Painted', 1024, 1024); image.pixels[0] = 0.5", 4_000_000),
    ],
    ids=["copy", "pixels"],
)
def test_a_disk_on_which_the_copy_does_not_fit(tmp_path: Path, scene: str, most: int) -> None:
    """A limit on the length of files stands for a full disk: the same write fails half-way."""
    tmp_path.chmod(0o711)
    code = f"""
import resource, signal
import bpy
from pathlib import Path
from {blender.EXTENSION}.base.errors import ExternalServiceError
from {blender.EXTENSION}.sandbox import confinement
from {blender.EXTENSION}.sandbox.rehearsal import pool as pools, prepare, rehearse
from {blender.EXTENSION}.sandbox.confinement.config import Config, Sandbox
confinement.configure(Config(Sandbox(workdir_base=Path({str(tmp_path)!r}) / "runs")))
confinement.current().means()
{scene}
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))
try:
    prepare.prepare()
except ExternalServiceError as error:
    print("SAID", error)
print("LEFT", list(confinement.current().shared_folder().iterdir()))
"""
    printed = blender.run(code, blender.environment(tmp_path))
    assert "SAID Blender could not copy the scene for a rehearsal: " in printed
    assert "LEFT []" in printed


#: A few, of kinds that reach furthest; `make soak` runs them all.
FURTHEST = {
    "wr-image-save",
    "rd-text-open",
    "mod-shutil",
    "mod-socket",
    "mod-environ",
    "bpy-extension-install",
}
ATTACKS = [attack for attack in sandbox_cases.attacks() if attack.id in FURTHEST]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_an_attack_reaches_nothing_outside(
    attack: sandbox_cases.Attack, hurry: None, both_kinds: None
) -> None:
    assert run_confined(attack) == []


def test_the_bare_child_really_has_no_walls() -> None:
    report = report_of("import os, bpy\nRESULT = [os.getpid() > 0, bpy.app.binary_path is not None]")
    assert report["result"] == "[True, True]"


def test_the_childs_environment_holds_no_secret(monkeypatch: pytest.MonkeyPatch, both_kinds: None) -> None:
    monkeypatch.setenv("SBX_TOKEN", "SBX-SECRET")
    report = report_of("import os\nRESULT = sorted(os.environ)")
    assert "SBX" not in report["result"]
    assert "BLENDER_MCP" not in report["result"]


class TestAuditWall:
    """The audit wall is up for all of a rehearsal: around the script, and around what it leaves behind."""

    @pytest.fixture(autouse=True)
    def _walled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pools.shutdown()
        monkeypatch.setattr(prepare, "find", partial(bare_program, child="walled_child"))

    @pytest.mark.usefixtures("both_kinds")
    @pytest.mark.parametrize(
        "script",
        [
            "open('/etc/passwd')",
            "try:\n    open('/etc/passwd')\nexcept BaseException:\n    pass",
            "import bpy\ndef later(*_):\n    open('/etc/passwd')\nbpy.app.handlers.undo_post.append(later)",
        ],
        ids=["raised", "swallowed", "left behind"],
    )
    def test_an_attempt_to_break_out_is_reported_as_one(self, script: str) -> None:
        report = report_of(script)
        assert report["outcome"] == "error"
        assert (report["error"]["type"], report["error"]["cause"]) == ("PolicyError", "Breakout")
        assert "attempt to break out of the sandbox: the script tried to open a file" in report["message"]

    def test_an_honest_script_is_rehearsed_with_its_difference(self) -> None:
        report = report_of("import bpy\nbpy.data.objects['Cube'].location.x = 3")
        assert report["outcome"] == "success"
        assert report["difference"]["changed"]


def test_nobody_else_on_the_network_is_reached(both_kinds: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        report = report_of(f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)")
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    assert report["error"]["cause"].startswith("PermissionError")
