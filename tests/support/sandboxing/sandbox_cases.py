# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs attacks and honest scripts, each in a forked Blender of its own, and reports whether they did harm.

`attacks.json` and `benign.json` are lists of cases; `_harmed` reads what they say of the harm (`detect`). Own attacks
are in `attacks_own.txt`, with a heading line `### id | category | harm | detect` before each, and own honest scripts
in `honest/*.py`, whose last line is the check.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import resource
import shutil
import signal
import socket
import stat
import sys
import tempfile
import threading
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = (
    "Attack",
    "Honest",
    "Outcome",
    "attacks",
    "enter",
    "fill",
    "guarded",
    "honest",
    "in_child",
    "listener",
    "plain",
    "run_attack",
    "run_honest",
    "shared",
    "surroundings",
    "undone",
)

CASES = Path(__file__).resolve().parents[2] / "sandbox" / "cases"
SECRET = "SBX-SECRET-7f3a"
_TIMEOUT_S = 40.0
_RSS_LIMIT_MB = 3000

Namespace = dict[str, Any]
#: Runs a script's text, filling the namespace that `detect` and `check` call `g`, and returns its output.
Runner = Callable[[str, Namespace], str]


@dataclass(frozen=True)
class Attack:
    id: str
    category: str
    code: str
    harm: str
    detect: str


@dataclass(frozen=True)
class Honest:
    id: str
    code: str
    check: str


@dataclass
class Outcome:
    """The outcome of one case: `ok` means "no harm was done" or "passed its check"; `note` says how."""

    ok: bool
    note: str = ""
    seconds: float = 0.0
    #: What refused or broke the script, in the harness's child.
    error: str = ""
    details: dict[str, Any] = field(default_factory=dict)


UNDONE = frozenset(("ss-homefile", "ss-orphans-purge"))
"""Shared attacks that are ordinary scripts by now: all that they change is inside their undo step."""


def undone() -> list[Attack]:
    """Return the shared attacks that one undo step reverses."""
    return [attack for attack in _shared() if attack.id in UNDONE]


def _shared() -> list[Attack]:
    return [Attack(**case) for case in json.loads((CASES / "attacks.json").read_text("utf-8"))]


def shared() -> list[Attack]:
    """Return the shared attacks without those of `undone`."""
    return [attack for attack in _shared() if attack.id not in UNDONE]


def attacks() -> list[Attack]:
    """Return the shared attacks without those of `undone`, and our own."""
    found = shared()
    own = CASES / "attacks_own.txt"
    if own.exists():
        for part in own.read_text("utf-8").split("\n### ")[1:]:
            head, _, code = part.partition("\n")
            name, category, harm, detect = (each.strip() for each in head.split(" | "))
            found.append(Attack(name, category, code.strip("\n") + "\n", harm, detect))
    return found


def honest() -> list[Honest]:
    """Return the shared honest scripts and our own."""
    found = [Honest(**case) for case in json.loads((CASES / "benign.json").read_text("utf-8"))]
    for path in sorted((CASES / "honest").glob("*.py")):
        code = path.read_text("utf-8")
        check = code.rstrip().rpartition("\n# check: ")[2]
        found.append(Honest(path.stem, code, check))
    return found


# --- how a script is run --------------------------------------------------------------------------------------


def plain(code: str, namespace: Namespace) -> str:
    """Run a script in plain Blender: `exec` with everything."""
    namespace["__name__"] = "__main__"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<script>", "exec", dont_inherit=True), namespace)
    return out.getvalue()


def guarded(code: str, namespace: Namespace, *, ends: bool = True) -> str:
    """Run a script through the extension's own entry point, and copy its globals, hooks too, at the end.

    Its guards stay usable if `ends` is False.
    """
    from bl_ext.user_default.mcp_bridge.sandbox.run import execute

    from .scripts import keeping

    execute._rate.clear()
    with keeping(namespace, ends=ends):
        return str(execute.execute_blender_code({"code": code}).get("stdout", ""))


# --- one case ---------------------------------------------------------------------------------------------------


def run_attack(attack: Attack, runner: Runner = guarded) -> Outcome:
    """Run an attack in a child; return whether it was stopped."""
    with surroundings() as places, listener() as contacted:
        places["@PORT@"] = str(contacted.port)
        code, detect = fill(attack.code, places), fill(attack.detect, places)
        answer, status, seconds, grown_mb = in_child(_attack_child, code, detect, places, runner)
        harm = _harmed(detect, answer, status, seconds, grown_mb, contacted)
    return Outcome(not harm, harm, seconds, (answer or {}).get("error", ""), answer or {})


def run_honest(case: Honest, runner: Runner = guarded) -> Outcome:
    """Run an honest script in a child and evaluate its check there."""
    with surroundings() as places:
        answer, status, seconds, _grown = in_child(_honest_child, case.code, case.check, places, runner)
    if answer is None:
        return Outcome(False, f"the child ended with status {status}", seconds)
    return Outcome(answer["ok"], answer["note"], seconds, answer["error"])


def fill(text: str, places: dict[str, str]) -> str:
    for mark, value in places.items():
        text = text.replace(mark, value)
    return text


def _attack_child(code: str, detect: str, places: dict[str, str], runner: Runner) -> dict[str, Any]:
    enter(places)
    namespace: Namespace = {}
    answer: dict[str, Any] = {"out": "", "error": "", "escaped": "", "memory": False, "refused": False}
    try:
        answer["out"] = runner(code, namespace)
    except MemoryError as error:
        answer["memory"] = True
        answer["error"] = repr(error)
    except BaseException as error:
        answer["error"] = f"{type(error).__name__}: {error}"
        answer["refused"] = type(error).__name__ in ("PolicyError", "ScriptRefused", "LimitExceeded")
        answer["escaped"] = "" if isinstance(error, Exception) else type(error).__name__
        answer["text"] = answer["error"] + "".join(traceback.format_exception(error))
    answer["exception"] = answer["error"].partition(":")[0]
    answer["shown"] = repr(namespace.get("RESULT"))[:200_000]
    kind, _, wanted = detect.partition(":")
    if kind in ("expr", "later"):
        answer["harm"] = _evaluate(wanted, namespace, later=kind == "later")
    return answer


def _evaluate(wanted: str, namespace: Namespace, *, later: bool) -> bool:
    import gc

    import bpy

    if later:
        with contextlib.suppress(Exception):
            bpy.data.objects.new("later", None)
            bpy.context.scene.collection.objects.link(bpy.data.objects["later"])
            bpy.context.view_layer.update()
            bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)
            gc.collect()
    try:
        return bool(eval(wanted, {"bpy": bpy, "os": os, "sys": sys, "g": namespace}))
    except Exception:
        return False


def _honest_child(code: str, check: str, places: dict[str, str], runner: Runner) -> dict[str, Any]:
    enter(places)
    import bpy

    namespace: Namespace = {}
    try:
        runner(code, namespace)
    except BaseException as error:
        return {"ok": False, "note": "failed", "error": f"{type(error).__name__}: {error}"}
    try:
        passed = bool(eval(check, {"bpy": bpy, "g": namespace}))
    except Exception as error:
        return {"ok": False, "note": f"the check raised {type(error).__name__}: {error}", "error": ""}
    return {"ok": passed, "note": "" if passed else "the check is false", "error": ""}


def _harmed(
    detect: str,
    answer: dict[str, Any] | None,
    status: int,
    seconds: float,
    grown_mb: float,
    contacted: _Listener,
) -> str:
    """Return the harm that was done, or an empty text."""
    kind, _, wanted = detect.partition(":")
    signalled = os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL
    if signalled:
        return f"died by signal {os.WTERMSIG(status)}"
    if answer is None and kind not in ("time", "rss"):
        return f"no answer within {seconds:.0f} s" if os.WIFSIGNALED(status) else f"left with status {status}"
    if grown_mb > _RSS_LIMIT_MB:
        return f"used {grown_mb:.0f} MB"
    found = answer or {}
    match kind:
        case "file":
            return f"{wanted} exists" if Path(wanted).exists() else ""
        case "nofile":
            return "" if Path(wanted).exists() else f"{wanted} vanished"
        case "expr" | "later":
            # A refusal rolls the scene back, so what the script itself made is gone, too.
            absent = " not in bpy.data." in wanted and found.get("refused")
            return f"{wanted} is true" if found.get("harm") and not absent else ""
        case "leak":
            shown = found.get("out", "") + found.get("shown", "") + found.get("error", "")
            return "leaked" if wanted in shown else ""
        case "time":
            return f"ran for {seconds:.1f} s" if answer is None or seconds > float(wanted) else ""
        case "rss":
            return (
                f"used {grown_mb:.0f} MB"
                if answer is None or grown_mb > float(wanted) or found.get("memory")
                else ""
            )
        case "raises" | "exc":
            names = wanted.split(",")
            escaped = found.get("escaped") if kind == "raises" else found.get("exception")
            return f"{escaped} reached the host" if escaped in names else ""
        case "out":
            return "printed too much" if len(found.get("out", "")) > float(wanted) * 1e6 else ""
        case "net":
            return (
                "the network was reached" if contacted.reached.wait(0.3) else ""
            )  # the listener's thread may still accept
        case "crash" | "exit":
            return ""
    raise ValueError(f"unknown detect {detect!r}")


# --- surroundings -------------------------------------------------------------------------------------------------


#: Programs that Blender or Python may start.
_TOOLS = ("xdg-open", "gio", "myeditor", "firefox", "sensible-browser", "x-www-browser")


@contextlib.contextmanager
def surroundings() -> Iterator[dict[str, str]]:
    folder = Path(tempfile.mkdtemp(prefix="sandbox-"))
    try:
        work = folder / "work"
        tools = work / "bin"
        tools.mkdir(parents=True)
        canary = work / "pwned"
        (folder / "home").mkdir()
        (folder / "path").mkdir()
        secret, victim, pyfile = folder / "secret.txt", work / "victim.txt", folder / "payload.py"
        secret.write_text(SECRET)
        victim.write_text("must survive")
        payload = f"open({str(canary)!r}, 'w').close()\n"
        pyfile.write_text(payload)
        shutil.copy(pyfile, work / "payload.py")
        (folder / "scripts" / "startup").mkdir(parents=True)
        (folder / "scripts" / "startup" / "evil.py").write_text(payload + "def register(): pass\n")
        (folder / "addon.py").write_text(
            "bl_info = {'name': 'evil', 'blender': (4, 2, 0), 'category': 'Object'}\n"
            + payload
            + "def register(): pass\n"
        )
        _extension(folder / "extension.zip", payload)
        (folder / "payload.pickle").write_bytes(_pickle(payload))
        blend = folder / "evil.blend"
        _write_blend(blend, payload)
        named = [place / name for place in (tools, folder / "path") for name in _TOOLS]
        named[0].write_text(f"#!/bin/sh\ntouch {canary}\n")
        named[0].chmod(named[0].stat().st_mode | stat.S_IEXEC)
        for tool in named[1:]:
            os.link(named[0], tool)
        yield {
            "@DIR@": str(work),
            "@CANARY@": str(canary),
            "@SECRET@": str(secret),
            "@PYFILE@": str(pyfile),
            "@BLEND@": str(blend),
            "@PICKLE@": str(folder / "payload.pickle"),
            "@SCRIPTDIR@": str(folder / "scripts"),
            "@ADDONPY@": str(folder / "addon.py"),
            "@EXTZIP@": str(folder / "extension.zip"),
            "@VICTIM@": str(victim),
            "@HOME@": str(folder / "home"),
            "@PATH@": str(folder / "path"),
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _extension(target: Path, payload: str) -> None:
    manifest = (
        'schema_version = "1.0.0"\nid = "evil"\nversion = "1.0.0"\nname = "Evil"\ntagline = "Evil"\n'
        'maintainer = "x"\ntype = "add-on"\nlicense = ["SPDX:GPL-3.0-or-later"]\nblender_version_min = "4.2.0"\n'
    )
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("blender_manifest.toml", manifest)
        archive.writestr("__init__.py", payload + "def register(): pass\ndef unregister(): pass\n")


class _Payload:
    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self.code,)


def _pickle(payload: str) -> bytes:
    return pickle.dumps(_Payload(payload))


def _write_blend(target: Path, payload: str) -> None:
    """Write a file with a material and with a Text that runs when scripts are on."""
    import bpy

    text = bpy.data.texts.new("evil.py")
    text.write(payload)
    text.use_module = True
    material = bpy.data.materials.new("EvilMat")
    bpy.data.libraries.write(str(target), {text, material}, fake_user=True)
    bpy.data.texts.remove(text)
    bpy.data.materials.remove(material)


def enter(places: dict[str, str]) -> None:
    os.environ["SBX_TOKEN"] = SECRET
    os.environ["HOME"] = places["@HOME@"]
    os.environ["PATH"] = places["@PATH@"] + os.pathsep + os.environ.get("PATH", "")
    os.chdir(places["@DIR@"])


class _Listener:
    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.reached = threading.Event()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self.server.accept()
            self.reached.set()
            connection.close()

    def close(self) -> None:
        """End the thread, too: while it waits in `accept`, the kernel keeps a file number for it."""
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self.server.close()


@contextlib.contextmanager
def listener() -> Iterator[_Listener]:
    listener = _Listener()
    try:
        yield listener
    finally:
        listener.close()


# --- the child ----------------------------------------------------------------------------------------------------


def in_child(
    function: Callable[..., dict[str, Any]], *args: Any
) -> tuple[dict[str, Any] | None, int, float, float]:
    """Run a function in a fork; return its answer (None without one), wait status, seconds and MB that it grew by.

    A fork starts with all that this process has, which after thousands of tests is a lot.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    own = os.open("/proc/self/statm", os.O_RDONLY)
    at_start = _resident_mb(own)
    os.close(own)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(writing, function, args, at_start)
    os.close(writing)
    os.set_blocking(reading, False)
    memory = os.open(f"/proc/{child}/statm", os.O_RDONLY)
    chunks: list[bytes] = []
    grown = 0.0
    status: int | None = None
    seconds = 0.0
    while status is None:
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(reading, 1 << 16):
                chunks.append(chunk)
        ended, code = os.waitpid(child, os.WNOHANG)
        seconds = time.monotonic() - began
        if ended:
            status = code
            break
        grown = max(grown, _resident_mb(memory) - at_start)
        if seconds > _TIMEOUT_S or grown > _RSS_LIMIT_MB:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            break
        time.sleep(0.005)
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(reading, 1 << 16):
            chunks.append(chunk)
    os.close(reading)
    os.close(memory)
    data = b"".join(chunks)
    answer = pickle.loads(data) if data else None
    if answer is not None:
        grown = max(grown, answer.pop("grown"))
        seconds = answer.pop("seconds")
    return answer, status, seconds, grown


def _work(
    writing: int, function: Callable[..., dict[str, Any]], args: tuple[Any, ...], at_start: float
) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(os.pipe()[0], 0)  # a terminal without input
    if not os.environ.get("SANDBOX_CASES_VERBOSE"):
        os.dup2(null, 1)
        os.dup2(null, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    memory = os.open("/proc/self/statm", os.O_RDONLY)
    began = time.monotonic()
    try:
        answer = function(*args)
    except BaseException as error:
        answer = {
            "ok": False,
            "note": "harness",
            "error": f"{type(error).__name__}: {error}",
            "escaped": type(error).__name__,
        }
    answer["seconds"] = time.monotonic() - began - _queued_s()
    answer["grown"] = _resident_mb(memory) - at_start
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(pickle.dumps(answer))
    os._exit(0)


def _queued_s() -> float:
    """Return how long this process waited for a processor; 0 if the kernel does not say."""
    try:
        return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _resident_mb(memory: int) -> float:
    """Return the MB of the process whose `/proc/…/statm` is open as `memory`; called hundreds of times for a case."""
    try:
        return int(os.pread(memory, 100, 0).split()[1]) * _PAGE_MB
    except (OSError, IndexError):
        return 0.0


_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6
