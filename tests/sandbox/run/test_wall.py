# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit wall alone: hostile code by plain `exec`, without language guards and without a guarded `bpy`."""

from __future__ import annotations

import colorsys
import contextlib
import io
import json
import os
import sys
import threading
import webbrowser
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy
import pytest
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.base.errors import Breakout, BridgeError, failure_of
from bl_ext.user_default.mcp_bridge.sandbox.blender import host
from bl_ext.user_default.mcp_bridge.sandbox.guard import audit
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.sandbox.run.wall import Armed, Broken

from support.running import fork
from support.sandboxing import sandbox_cases
from support.sandboxing.sandbox_cases import CASES, Namespace, run_attack
from support.sandboxing.scripts import finding

pytestmark = pytest.mark.usefixtures("fresh_file")
#: Loaded before the fork: an attack is not stopped where it merely loads what it uses.
_WARM = (colorsys, webbrowser, numpy, host)

#: Ids of the attacks that reach their harm through Python, one a line: the wall alone stops each of them.
STOPPED = (CASES / "stopped_by_audit.txt").read_text("utf-8").split()

#: How the other shared attacks do their harm: none of them raises an event that could be denied (`observed`), but those
#: called "late", whose harm Blender's C code has done before, and "loaded", which is stopped only where it loads
#: numpy.random.
NOT_STOPPED = dict(
    line.split() for line in (CASES / "not_stopped_by_audit.txt").read_text("utf-8").splitlines()
)


#: These use up time or memory, or crash Python itself: what they raised before is lost with them.
_UNOBSERVED = ("limits", "crash", "loaded")


def walled(script: str, names: Namespace) -> str:
    """Run a script by plain `exec` under the audit wall alone, and return what it printed."""
    names["__name__"] = "__main__"
    out = io.StringIO()
    compiled = compile(script, "<script>", "exec", dont_inherit=True)
    with contextlib.redirect_stdout(out), Armed(lambda error: None):
        exec(compiled, names)
    return out.getvalue()


def observed(script: str, names: Namespace) -> str:
    """Run a script by plain `exec`, and return which events it raises that are not harmless."""
    seen: set[str] = set()
    noting = False

    def note(event: str, _details: object) -> None:
        if noting and event not in audit.FREE:
            seen.add(event)

    # what is saved as the user's own would be there for other tests
    os.environ["BLENDER_USER_RESOURCES"] = os.getcwd()
    sys.addaudithook(note)
    compiled = compile(script, "<script>", "exec", dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(BaseException):
        noting = True
        exec(compiled, names | {"__name__": "__main__"})
    noting = False
    return " ".join(sorted(seen - {"exec"}))


def _said(script: str, **names: Any) -> str:
    """What stopped the script in a Blender of its own; "" if nothing did."""

    def tried() -> str:
        try:
            walled(script, dict(names))
        except Broken as stop:
            return str(stop)
        return ""

    return fork.run(tried)


@pytest.mark.parametrize(
    ("script", "event"),
    [
        ("open('/etc/passwd').read()", "open a file (audit event open, '/etc/passwd')"),
        ("import os\nos.system('id')", "start a program (audit event os.system)"),
        ("import subprocess\nsubprocess.Popen('id')", "start a program (audit event subprocess.Popen, 'id')"),
        ("import os\nos.listdir('/')", "look for files (audit event os.listdir, '/')"),
        ("import os\nos.remove('x')", "remove a file (audit event os.remove, 'x')"),
        ("import os\nos.environ['A'] = 'b'", "change the environment (audit event os.putenv)"),
        ("import os\nos.fork()", "start a process (audit event os.fork)"),
        ("import socket\nsocket.socket()", "reach the network (audit event socket.__new__)"),
        ("import ctypes\nctypes.string_at(1)", "read memory (audit event ctypes.string_at)"),
        (
            "import ctypes\nctypes.CDLL('libc.so.6')",
            "load a library (audit event ctypes.dlopen, 'libc.so.6')",
        ),
        ("import this", "load a module (audit event import, 'this')"),
        ("exec('1')", "compile code (audit event compile, '<string>')"),
        (
            "exec((lambda: 0).__code__)",
            "read the frame or code of a function (audit event object.__getattr__",
        ),
        ("(i for i in ()).gi_frame", "read the frame or code of a function (audit event object.__getattr__"),
        ("import sys\nsys._getframe()", "read frames of other functions (audit event sys._getframe)"),
        ("import gc\ngc.get_objects()", "list the objects of the process (audit event gc.get_objects)"),
        ("import sys\nsys.addaudithook(print)", "watch the interpreter (audit event sys.addaudithook)"),
        ("import sys\nsys.settrace(print)", "watch the interpreter (audit event sys.settrace)"),
        ("import marshal\nmarshal.loads(b'')", "read code from bytes (audit event marshal.loads)"),
        (
            "import pickle\npickle.loads(b'cos\\nsystem\\n.')",
            "load a class from bytes (audit event pickle.find",
        ),
        ("import sys\nsys.audit('made up')", "do what nobody has reviewed (audit event made up)"),
        (
            "def f(): pass\nf.__defaults__ = (1,)",
            "change a function, class or code (audit event object.__setattr",
        ),
        ("import bpy\nbpy.data.texts.new('a').as_module()", "compile code (audit event compile"),
        (
            "import bpy\nbpy.ops.wm.context_set_value(data_path='scene.name', value='1')",
            "compile code (audit event",
        ),
    ],
)
def test_what_goes_through_python_is_stopped(script: str, event: str) -> None:
    said = _said(script)
    assert said.startswith(f"attempt to break out of the sandbox: the script tried to {event}")
    assert said.endswith(", and was stopped")


@pytest.mark.parametrize(
    "script",
    [
        "try:\n    open('/etc/passwd')\nexcept BaseException:\n    pass",
        "try:\n    open('/etc/passwd')\nfinally:\n    raise ValueError",
        "import contextlib\nwith contextlib.suppress(BaseException):\n    open('/etc/passwd')",
        "class A:\n    def __del__(self): open('/etc/passwd')\nA()\nx = 1",
        "import bpy\ndef later(*_):\n    open('/etc/passwd')\n"
        "bpy.app.handlers.depsgraph_update_post.append(later)\n"
        "bpy.data.objects['Cube'].location.x = 3\nbpy.context.view_layer.update()",
        "import bpy\nbpy.context.preferences.filepaths.use_scripts_auto_execute = True\n"
        "curve = bpy.data.objects['Cube'].driver_add('location', 0)\n"
        "curve.driver.expression = \"len(open('/etc/passwd').read())\"\nbpy.context.view_layer.update()",
    ],
    ids=["except", "finally", "suppress", "finalizer", "handler", "driver"],
)
def test_an_attempt_that_is_swallowed_ends_the_run_all_the_same(script: str) -> None:
    assert "(audit event open, '/etc/passwd')" in _said(script)


#: What a script that has found all modules may try against the wall itself. `module(name)` gives one of ours.
AGAINST_THE_WALL = [
    "module('wall').Armed.__exit__(None)",
    "sys.audit(module('audit').CONTROL, 'disarm')",
    "sys.audit(module('audit').CONTROL, 'arm', print, {})",
    "with module('wall').Armed(print): open('/etc/passwd')",
    "def f(): open('/etc/passwd')\nmodule('audit').may_raise('exec')(f)",
    "class Text(str):\n    def __eq__(self, other): open('/etc/passwd')\n    __hash__ = str.__hash__\n"
    "sys.audit(module('audit').CONTROL, Text('disarm'))",
    "module('wall')._FOREIGN = frozenset()\nopen('/etc/passwd')",
    "module('audit')._grants.clear()\nmodule('audit').OWN = {'open'}\nopen('/etc/passwd')",
    "module('wall').get_ident = lambda: 0\nsys._getframe = None\nopen('/etc/passwd')",
    "import builtins\nbuiltins.len = builtins.id = print\nopen('/etc/passwd')",
    "module('audit').attempt = lambda *_: open('/etc/shadow').read()\nopen('/etc/passwd')",
    "module('audit').LISTED = None\nopen('/etc/passwd')",
    "module('wall').Broken.__init__ = lambda *_: open('/etc/shadow').read()\nopen('/etc/passwd')",
    "sys.excepthook = lambda *_: open('/etc/passwd')\nsys.audit('sys.excepthook', sys.excepthook)\nsys.excepthook()",
    "sys.audit('sys.excepthook', 1)\nopen('/etc/passwd')",
    "sys.audit('sys.unraisablehook', 1)\nopen('/etc/passwd')",
]


@pytest.mark.parametrize("attack", AGAINST_THE_WALL)
def test_nothing_that_a_script_reaches_takes_the_wall_down(attack: str) -> None:
    found = (
        "import sys\n"
        "def module(name):\n"
        "    places = ('sandbox.run.' + name, 'sandbox.guard.' + name)\n"
        "    return next(m for n, m in list(sys.modules.items()) if n.endswith(places))\n"
    )

    def tried() -> tuple[str, bool]:
        real = open
        opened: list[object] = []

        def leak(*arguments: Any) -> Any:
            opened.append(real(*arguments))
            return opened[-1]

        try:
            walled(found + attack, {"open": leak})
        except BaseException as stop:
            return type(stop).__name__, bool(opened)
        return "", bool(opened)

    stopped, opened = fork.run(tried)
    assert not opened
    assert stopped


def test_a_copy_of_code_that_holds_a_grant_holds_none() -> None:
    """Code objects that look the same are equal; a grant is for the one."""
    from bl_ext.user_default.mcp_bridge.sandbox.lifetime import held

    lines = Path(held.__file__).read_text("utf-8").splitlines()
    # A line stays where it is, since code says on which line it begins.
    script = "\n".join("" if line.startswith("from .") else line for line in lines)
    script = script.replace('@may_raise("gc.get_objects", "gc.get_referents", "sys._getframe")', "")
    assert "(audit event gc.get_objects)" in _said(f"{script}\nHeld({{}}, {{}}).find({{}})\n")


def test_other_threads_and_what_was_there_before_are_left_alone(tmp_path: Path) -> None:
    """A server's thread reads files meanwhile; so does a handler of another extension, which Blender calls."""
    file = tmp_path / "read.txt"
    file.write_text("x")

    def tried() -> tuple[str, int, int]:
        read: list[str] = []
        over = threading.Event()

        def serve() -> None:
            while not over.wait(0.001):
                file.read_text()
                read.append("thread")

        def handler(*_arguments: object) -> None:
            read.append(file.read_text())

        thread = threading.Thread(target=serve)
        thread.start()
        bpy.app.handlers.depsgraph_update_post.append(handler)
        script = (
            "import bpy, time\nuntil = time.time() + 0.2\nwhile time.time() < until:\n"
            "    bpy.data.objects['Cube'].location.x += 1\n    bpy.context.view_layer.update()\n"
        )
        try:
            result = execute.execute_blender_code({"code": script})["status"]
        finally:
            over.set()
            thread.join()
            bpy.app.handlers.depsgraph_update_post.remove(handler)
        return str(result), read.count("thread"), read.count("x")

    status, by_thread, by_handler = fork.run(tried)
    assert status == "success"
    assert by_thread > 3
    assert by_handler > 3


def test_python_may_show_the_errors_of_handlers_and_drivers() -> None:
    """It reads the lines of their source, which is an event."""

    def tried() -> str:
        def handler(*_arguments: object) -> None:
            raise ValueError("a handler of another extension has an error")

        bpy.app.handlers.depsgraph_update_post.append(handler)
        curve = bpy.data.objects["Cube"].driver_add("location", 1)
        curve.driver.expression = "[1, 2][5] + frame"
        script = "import bpy\nbpy.data.objects['Cube'].location.x += 1\nbpy.context.view_layer.update()\n"
        with contextlib.redirect_stderr(io.StringIO()) as said:
            execute.execute_blender_code({"code": script})
        return said.getvalue()

    assert "a handler of another extension has an error" in fork.run(tried)


@pytest.mark.parametrize("warned", ["np.mean([])", "np.log(0)", "np.polyfit([1, 1, 1], [1, 2, 3], 2)"])
def test_a_warning_of_a_library_opens_no_file(warned: str) -> None:
    """Python would show it with the line of source that it is about."""
    answer = execute.execute_blender_code({"code": f"import numpy as np\nx = {warned}\nresult = 'went on'"})
    assert answer["result"] == "went on"


@pytest.mark.parametrize("named", ["np.zeros(2, dtype='3f4,i4')", "np.arange(3) == '12'", "np.dtype('2i')"])
def test_numpy_may_read_the_name_of_a_type(named: str) -> None:
    """It parses the numbers in it as a tuple of Python's, which is an event."""
    answer = execute.execute_blender_code({"code": f"import numpy as np\nx = {named}\nresult = 'went on'"})
    assert answer["result"] == "went on"


@pytest.fixture
def _leaking() -> Iterator[None]:
    """A hole in the first two walls: a script finds Python's `open` under the name `leak`."""
    with finding({"leak": open}):
        yield


@pytest.mark.usefixtures("_leaking")
def test_an_attempt_rolls_back_and_stands_in_the_answer_and_in_the_journal() -> None:
    script = (
        "import bpy\nbpy.data.objects.remove(bpy.data.objects['Cube'])\n"
        "try:\n    leak('/etc/passwd')\nexcept Exception:\n    pass\n"
    )
    with pytest.raises(Breakout) as caught:
        execute.execute_blender_code({"code": script})
    assert "Cube" in bpy.data.objects
    told = failure_of(caught.value)
    assert (told["error"], told["cause"], told["line"]) == ("PolicyError", "Breakout", 4)
    assert told["message"] == (
        "attempt to break out of the sandbox: the script tried to open a file (audit event open, '/etc/passwd'), "
        "and was stopped"
    )
    record = json.loads(journal.current().path.read_text("utf-8").splitlines()[-1])
    assert (record["event"], record["cause"], record["reason"]) == ("execute_failed", "Breakout", "breakout")
    assert "attempt to break out" in record["message"]


@pytest.mark.usefixtures("_leaking")
def test_a_run_that_is_over_leaves_the_wall_down() -> None:
    for script in ("x = 1", "1 / 0", "leak('/etc/passwd')"):
        with contextlib.suppress(BridgeError):
            execute.execute_blender_code({"code": script})
        assert Path("/etc/passwd").read_text()


@pytest.mark.parametrize("attack", STOPPED)
def test_an_attack_through_python_is_stopped_by_this_wall_alone(attack: str) -> None:
    [found] = [each for each in sandbox_cases.attacks() if each.id == attack]
    outcome = run_attack(found, walled)
    assert outcome.ok, outcome.note
    stopped = outcome.error.startswith("Broken: attempt to break out of the sandbox: ")
    assert stopped or run_attack(found, sandbox_cases.plain).ok  # another Blender has not what it uses


@pytest.mark.parametrize("attack", [each for each, how in NOT_STOPPED.items() if how not in _UNOBSERVED])
def test_an_attack_that_is_not_stopped_in_time_shows_python_nothing_before(attack: str) -> None:
    if attack == "wr-usd-export" and bpy.app.version >= (5, 0):
        pytest.skip("USD waits for threads of its own, which a fork does not have")
    [found] = [each for each in sandbox_cases.shared() if each.id == attack]
    outcome = run_attack(found, observed)
    assert "out" in outcome.details, outcome
    events = outcome.details["out"]
    if NOT_STOPPED[attack] == "late":
        assert events
        assert run_attack(found, walled).error.startswith("Broken: attempt to break out of the sandbox: ")
    else:
        assert not events


def test_of_each_shared_attack_it_is_said_whether_this_wall_stops_it() -> None:
    shared = {each.id for each in sandbox_cases.shared() if not each.category.startswith("dos-")}
    stopped = shared & set(STOPPED)
    assert stopped | NOT_STOPPED.keys() == shared
    assert not stopped & NOT_STOPPED.keys()
    assert len(stopped) == 42
    assert Counter(NOT_STOPPED.values()) == {
        "blender": 28,
        "memory": 11,
        "names": 6,
        "limits": 4,
        "late": 2,
        "crash": 1,
        "loaded": 1,
    }


def test_the_events_are_found_where_the_extension_is_installed() -> None:
    assert audit.LISTED["deny"]["os.system"] == "start a program"
