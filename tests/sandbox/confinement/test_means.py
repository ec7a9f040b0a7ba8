# SPDX-License-Identifier: GPL-3.0-or-later
"""Each way of confining that this system has, tried from inside: what is out of reach, and what is not."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.confinement import means as means_module
from bl_ext.user_default.mcp_bridge.sandbox.confinement import supervisor as supervisor_module
from bl_ext.user_default.mcp_bridge.sandbox.confinement.means import Means
from bl_ext.user_default.mcp_bridge.sandbox.confinement.platforms import candidates
from bl_ext.user_default.mcp_bridge.sandbox.confinement.probe import EVERYTHING

from support.confinement.copies import Copied
from support.confinement.noise import PRINTED, noisy_processes

from .conftest import Bench

#: By a word of its name; "Landlock" is the kernel's own means with namespaces.
STARTED = ("Landlock", "bubblewrap", "podman", "docker")
#: A copy of a process is confined just after it was forked.
KINDS = (*STARTED, "copy")

#: Python that tries one thing after the other and tells which succeeded.
ATTEMPTS = """
    import ctypes, fcntl, json, os, resource, socket, subprocess, sys, threading
    done = []
    def attempt(name, act):
        try:
            act()
        except (OSError, subprocess.SubprocessError):
            return
        done.append(name)
    libc = ctypes.CDLL(None, use_errno=True)
    def call(*args):
        if libc.syscall(*args) < 0:
            raise OSError(ctypes.get_errno(), "")
    def thread_forks():
        t = threading.Thread(target=lambda: attempt("fork in a thread", os.fork)); t.start(); t.join()
    for fd in range(3, 64):
        attempt(f"inherited {{fd}}", lambda: os.fstat(fd))
    outside = {outside!r}
    attempt("read a user's file", lambda: open(outside + "/file").read())
    attempt("list a user's folder", lambda: os.listdir(outside))
    attempt("write a user's file", lambda: open(outside + "/file", "a"))
    attempt("make a file", lambda: open(outside + "/new", "w"))
    attempt("remove a file", lambda: os.unlink(outside + "/file"))
    attempt("rename a file", lambda: os.rename(outside + "/file", outside + "/other"))
    attempt("change a file's mode", lambda: os.chmod(outside + "/file", 0))
    attempt("change a file's time", lambda: os.utime(outside + "/file", (1, 1)))
    attempt("link a file", lambda: os.link(outside + "/file", "linked"))
    attempt("cut a file", lambda: os.truncate(outside + "/file", 0))
    attempt("read the passwords", lambda: open("/etc/shadow").read())
    attempt("read the parent's environment", lambda: open(f"/proc/{{os.getppid()}}/environ").read())
    attempt("write /dev/shm", lambda: open("/dev/shm/left", "w"))
    attempt("write /tmp", lambda: open("/tmp/left-behind", "w"))
    attempt("fork", os.fork)
    thread_forks()
    attempt("spawn", lambda: subprocess.run(["/bin/true"]))
    attempt("clone", lambda: call({clone}, 17, 0, 0, 0, 0))
    attempt("kill the parent", lambda: os.kill(os.getppid(), 0))
    attempt("connect", lambda: socket.create_connection(("127.0.0.1", {port}), 1))
    attempt("send a datagram", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9)))
    attempt("a Unix socket", lambda: socket.socket(socket.AF_UNIX).connect("/run/dbus/system_bus_socket"))
    attempt("a namespace", lambda: libc.unshare(0x10000000) and call(-1))
    attempt("be root", lambda: os.setuid(0))
    attempt("a device", lambda: os.mknod("device", 0o20600, os.makedev(1, 1)))
    attempt("a keyring", lambda: call({add_key}, b"user", b"a", b"b", 1, -3))
    attempt("a pipe by name", lambda: os.mkfifo("pipe"))
    attempt("a socket by name", lambda: socket.socket(socket.AF_UNIX).bind("socket"))
    attempt("an abstract socket", lambda: socket.socket(socket.AF_UNIX).bind("\\0left"))
    attempt("a pair of sockets", socket.socketpair)
    attempt("a program from the work folder", lambda: os.execv("own", ["own"]))
    attempt("memory that nobody counts", lambda: os.memfd_create("m"))
    attempt("another's limits", lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE))
    attempt("another's turns", lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19))
    attempt("another's processors", lambda: os.sched_setaffinity(os.getppid(), {{0}}))
    attempt("another session", os.setsid)
    attempt("another group", lambda: os.setpgid(0, 0))
    attempt("to be told by a signal", lambda: fcntl.fcntl(1, fcntl.F_SETOWN, os.getppid()))
    attempt("which signal", lambda: fcntl.fcntl(1, fcntl.F_SETSIG, 9))
    attempt("to outlive the parent", lambda: libc.prctl(1, 0, 0, 0, 0) and call(-1))
    attempt("to hide from the parent", lambda: libc.prctl(4, 0, 0, 0, 0) and call(-1))
    attempt("to follow a folder", lambda: libc.inotify_add_watch(libc.inotify_init(), b"/", 0xFFF) < 0 and call(-1))
    attempt("to look into the parent", lambda: call({ptrace}, 16, os.getppid(), 0, 0))
    attempt("a ring", lambda: call(425, 8, ctypes.create_string_buffer(256)))
    attempt("what the parent has open", lambda: os.listdir(f"/proc/{{os.getppid()}}/fd"))
    attempt("a symbolic link", lambda: os.symlink("/etc", "etc"))
    if os.getuid() == 0: done.append("is root")
    if os.environ.get("SECRET"): done.append("has the parent's environment")
    with open("own", "w") as f: f.write("x")
    open("/dev/null", "w").write("x")
    t = threading.Thread(target=lambda: None); t.start(); t.join()
    print(json.dumps(done))
"""


class _Quiet(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"reached")

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def web() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def _bench(kind: str, make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch, **sandbox) -> Bench:
    found = [Copied()] if kind == "copy" else [means for means in candidates(None) if kind in means.name]
    if not found:
        pytest.skip(f"{kind} is not installed here")
    monkeypatch.setattr(supervisor_module, "candidates", lambda mode: found[:1])
    bench = make_bench(**sandbox)
    try:
        bench.supervisor.means()
    except supervisor_module.Unconfined as reason:
        pytest.skip(f"{kind} does not work here: {reason}")
    return bench


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_outside_is_within_reach(
    kind: str, make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, web: int
) -> None:
    monkeypatch.setenv("SECRET", "SBX-SECRET")
    bench = _bench(kind, make_bench, monkeypatch)
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    (outside / "file").write_text("private")
    (outside / "file").chmod(0o666)
    numbers = (
        {"clone": 56, "add_key": 248, "ptrace": 101}
        if os.uname().machine == "x86_64"
        else {"clone": 220, "add_key": 217, "ptrace": 117}
    )
    status, output = bench.run(ATTEMPTS.format(outside=str(outside), port=web, **numbers))
    assert json.loads(output.splitlines()[-1]) == []  # newer Pythons warn of fork first
    assert set(status.confinement.in_force) == set(EVERYTHING)
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "private"


@pytest.mark.parametrize("kind", STARTED)
def test_an_allowed_host_is_reached_and_no_other(
    kind: str, make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch, web: int
) -> None:
    bench = _bench(kind, make_bench, monkeypatch)
    code = f"""
        import socket, urllib.request, urllib.error
        print(urllib.request.urlopen("http://127.0.0.1:{web}/").read().decode())
        for _ in range(3):
            try:
                urllib.request.urlopen("http://elsewhere.example/")
            except urllib.error.HTTPError as error:
                print(error.code)
        print(socket.socket().connect_ex(("127.0.0.1", {web})) != 0)
    """
    allowed = (f"127.0.0.1:{web}",)
    _, output = bench.run(code, net_policy="allow-list", allowed_hosts=allowed)
    assert output.split() == ["reached", "403", "403", "403", "True"]
    assert [record["host"] for record in bench.events("host_refused")] == ["elsewhere.example:80"]


@pytest.mark.parametrize("kind", KINDS)
def test_limits_hold_and_a_kill_reaches_the_process_itself(
    kind: str, make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = _bench(kind, make_bench, monkeypatch)
    status, _ = bench.run("kept = []\nwhile True: kept.append(b'x' * 2**20)", mem_limit_mb=128)
    assert status.reason == "out of memory"
    assert not Path("oom").exists(), "podman's monitor leaves one where it is started"
    handle = bench.start("import time; print('ready', flush=True); time.sleep(60)")
    assert bench.wait_for(lambda: "ready" in bench.supervisor.chatter(handle))
    bench.supervisor.kill(handle)
    assert bench.supervisor.status(handle).reason == "stopped"


@pytest.mark.parametrize("kind", KINDS)
def test_the_open_blender_gets_the_processor_first(
    kind: str, make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its nice value, and where the kernel groups processes by session by that of the session."""
    bench = _bench(kind, make_bench, monkeypatch)
    code = "import os, time; print('nice', os.getpriority(os.PRIO_PROCESS, 0), flush=True); time.sleep(60)"
    handle = bench.start(code)
    try:
        assert bench.wait_for(lambda: "nice" in bench.supervisor.chatter(handle))
        value = bench.supervisor.chatter(handle).rpartition("nice")[2]  # newer Pythons warn of fork first
        assert int(value) == max(10, os.getpriority(os.PRIO_PROCESS, 0))
        group = Path(f"/proc/{bench.supervisor.status(handle).pid}/autogroup")
        if kind in ("Landlock", "copy") and _groups_by_session():
            assert group.read_text().split()[-1] == "10"
    finally:
        bench.supervisor.kill(handle)


def _groups_by_session() -> bool:
    """Return whether this kernel groups processes by session, and a process may set its group's nice value."""
    own = Path("/proc/self/autogroup")
    try:
        words = (
            own.read_text().split()
        )  # none, where the kernel can group by session but this process has no group
        own.write_text(words[-1] if words else "")
    except OSError:
        return False
    return bool(words)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_come_apart_from_what_is_printed(
    kind: str, make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    _bench(kind, make_bench, monkeypatch)
    with noisy_processes():
        bench = make_bench()
        assert bench.supervisor.confinement() is None, "it is tried anew, with noise"
        code = """
            import os, sys
            with os.fdopen(int(os.environ["MCP_BRIDGE_ANSWERS"]), "wb") as answers:
                answers.write(sys.stdin.buffer.readline())
        """
        handle = bench.start(code, answers=True)
        bench.supervisor.send(handle, b"one")
        assert bench.supervisor.receive(handle, 30.0) == b"one\n"
        assert bench.supervisor.receive(handle, 30.0) is None
    assert bench.supervisor.wait(handle, 30.0).exit_code == 0
    assert PRINTED in bench.supervisor.chatter(handle)


class TestWithoutNamespaces:
    """As on systems that forbid them: Landlock and seccomp alone, where every folder above must be open."""

    @pytest.fixture
    def bench(self, make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch) -> Bench:
        from bl_ext.user_default.mcp_bridge.sandbox.confinement.linux.start import Native

        class Unnamed(Native):
            """The launcher is told that namespaces were made by somebody else, so it makes none."""

            def start(self, spec, place):
                import bl_ext.user_default.mcp_bridge.sandbox.confinement.linux.start as start

                plain = start.orders_for

                def command(*args, **more):
                    return plain(*args, **{**more, "root": None, "drop": False})

                monkeypatch.setattr(start, "orders_for", command)
                try:
                    return super().start(spec, place)
                finally:
                    monkeypatch.setattr(start, "orders_for", plain)

        monkeypatch.setattr(supervisor_module, "candidates", lambda mode: [Unnamed()])
        return make_bench()

    def test_files_and_processes_are_out_of_reach_all_the_same(self, bench: Bench, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("private")
        status, output = bench.run(
            f"""
            import os
            folder = {str(tmp_path)!r}
            for act in (lambda: open(folder + "/file"), lambda: os.fork(), lambda: os.chmod(folder, 0)):
                try:
                    act()
                except PermissionError:
                    print("refused")
            """
        )
        assert output.split() == ["refused"] * 3
        assert set(status.confinement.in_force) == set(EVERYTHING)


class _Nothing:
    """Means that confine nothing: the canaries must notice."""

    name, wraps, needs_namespaces = "good will", False, False

    def __init__(self, real: Means) -> None:
        self._real = real

    def start(self, spec, place):
        return self._real.start(spec, place)


def test_what_does_not_hold_is_not_used(
    make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launcher's own confinement is switched off from outside: its canaries succeed, so it starts nothing."""
    real = candidates(None)[0]
    boot = means_module.BOOT.replace(
        "importlib.import_module(sys.argv[2])",
        "m = importlib.import_module(sys.argv[2]); m._confine = lambda orders, parent: {}; m",
    )
    monkeypatch.setattr(means_module, "BOOT", boot)
    monkeypatch.setattr(supervisor_module, "candidates", lambda mode: [_Nothing(real)])
    bench = make_bench()
    with pytest.raises(supervisor_module.Unconfined, match="Nothing on this system confines a process"):
        bench.start("print('started')")
    assert bench.supervisor.counts().started == 0


def test_a_panel_is_told_what_is_known_without_waiting(bench: Bench, make_bench: Callable) -> None:
    assert (bench.supervisor.confinement(), bench.supervisor.unconfined()) == (None, "")
    bench.supervisor.find_out()
    assert bench.wait_for(lambda: bench.supervisor.confinement() is not None, 60.0)
    found = bench.supervisor.confinement()
    assert set(found.in_force) == set(EVERYTHING)
    assert found.means.startswith(bench.supervisor.means())
    bench.supervisor.find_out()
    assert bench.supervisor.confinement() is found


def test_a_panel_is_told_why_nothing_confines(make_bench: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor_module, "candidates", lambda mode: [])
    bench = make_bench()
    bench.supervisor.find_out()
    assert bench.wait_for(lambda: bench.supervisor.unconfined() != "")
    assert "This platform is not supported" in bench.supervisor.unconfined()
    assert bench.supervisor.confinement() is None


def test_a_container_without_an_engine_says_what_to_install(
    make_bench: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        supervisor_module.Unconfined, match="neither podman nor docker is installed: install one"
    ):
        make_bench(mode="container").supervisor.means()


def test_a_platform_without_any_means_says_so(make_bench: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(supervisor_module, "candidates", lambda mode: asked.append(mode) or [])
    bench = make_bench()
    for _ in range(2):  # a panel asks often
        with pytest.raises(supervisor_module.Unconfined, match="This platform is not supported"):
            bench.supervisor.means()
    assert asked == [None]


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_the_strongest_means_are_chosen_first() -> None:
    first = candidates(None)[0]
    assert (first.name, first.needs_namespaces) == ("Landlock and seccomp", True)
    assert [means.name for means in candidates("container")] == [
        means.name for means in candidates(None) if "container" in means.name
    ]
