# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers go through a pipe of their own: whatever a process prints, nobody takes it for an answer."""

from __future__ import annotations

import ast
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import bl_ext.user_default.mcp_bridge as extension
import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.importers import environment
from bl_ext.user_default.mcp_bridge.importers.opening import foreign
from bl_ext.user_default.mcp_bridge.importers.work import Work
from bl_ext.user_default.mcp_bridge.rendering import frames, image
from bl_ext.user_default.mcp_bridge.rendering.farms import prepare
from bl_ext.user_default.mcp_bridge.sandbox import confinement as supervisor
from bl_ext.user_default.mcp_bridge.sandbox.confinement import answering
from bl_ext.user_default.mcp_bridge.sandbox.confinement.probe import EVERYTHING
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import prepare as rehearsal
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import program

from support.confinement.noise import PRINTED, noisy_processes
from support.confinement.rehearsing import bare_program, rehearsals, report_of
from support.services import assets


def _probe(_folder: Path) -> None:
    supervisor.current().means()
    confinement = supervisor.current().confinement()
    assert confinement is not None
    assert set(confinement.in_force) == set(EVERYTHING)


def _any_program(_folder: Path) -> None:
    handle = supervisor.start_server_process([sys.executable, "-c", "raise SystemExit(3)"])
    status = supervisor.current().wait(handle, 30.0)
    assert (status.exit_code, status.reason) == (3, None)
    assert PRINTED in supervisor.current().chatter(handle)


def _rehearsal(_folder: Path) -> None:
    report = report_of("print('one'); result = 2")
    assert (report["outcome"], report["stdout"], report["result"]) == ("success", "one\n", 2)


def _render(_folder: Path) -> None:
    told: list[tuple[float, float]] = []
    plan = image.prepare(resolution=(8, 4), samples=2)
    picture = image.run(plan, lambda *far: told.append(far), threading.Event())
    assert picture.data.startswith((b"\x89PNG", b"\xff\xd8\xff"))
    assert told[-1] == (2, 2)


def _animation(folder: Path) -> None:
    ordered = frames.order(
        folder / "renders",
        folder / "turn.png",
        owner="somebody",
        frames=(1, 2),
        overwrite=False,
        camera=None,
        engine="CYCLES",
        resolution=(8, 4),
        samples=1,
    )
    frames.run(folder / "renders", ordered, program.find(), lambda *_: None, threading.Event())
    assert sorted(path.name for path in folder.glob("*.png")) == ["turn_0001.png", "turn_0002.png"]


def _render_target(folder: Path) -> None:
    choice = {"camera": None, "engine": "CYCLES", "resolution": (8, 4), "samples": 1}
    copied = prepare.copy_scene(folder / "handed_on", (1, 2), **choice)
    prepared = prepare.prepare(copied, threading.Event())
    assert prepared.scene.read_bytes()
    assert prepared.seconds is not None


def _import(folder: Path) -> None:
    scene = assets.gltf(folder)
    files = {
        PurePosixPath(path.relative_to(scene.parent)): path
        for path in scene.parent.rglob("*")
        if path.is_file()
    }
    job = {"format": "gltf", "file": scene.name, "title": "Thing", "collections": []}
    job |= {"size": None, "ground": False, "unwrap": True}
    with foreign.opened(Work(environment.asset_cache()), job, files) as clean:
        assert (clean.collection, clean.roots) == ("Thing", ("box",))


#: File that asks for a process -> what has it started, and looks at the answers.
PROGRAMS: dict[str, Callable[[Path], None]] = {
    "sandbox/confinement/supervisor.py": _probe,
    "sandbox/confinement/__init__.py": _any_program,
    "sandbox/rehearsal/pool.py": _rehearsal,
    "rendering/image.py": _render,
    "rendering/frames.py": _animation,
    "rendering/farms/prepare.py": _render_target,
    "importers/opening/confined.py": _import,
}


@pytest.fixture
def _scene(tmp_path: Path) -> Iterator[None]:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    with rehearsals(tmp_path):
        yield


def test_every_confined_program_is_among_these() -> None:
    home = Path(extension.__file__).parent
    asking = {
        path.relative_to(home).as_posix()
        for path in home.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Spec"
    }
    assert asking == set(PROGRAMS)


@pytest.mark.usefixtures("_scene")
@pytest.mark.parametrize("program", PROGRAMS)
def test_noise_is_no_answer(program: str, tmp_path: Path) -> None:
    with noisy_processes() as asked:
        PROGRAMS[program](tmp_path)
    assert asked


@pytest.mark.usefixtures("_scene")
def test_noise_is_kept_within_bounds_for_the_message_of_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "find", bare_program)
    with noisy_processes():
        message = report_of("import os; os.abort()")["message"]
    assert message.startswith(
        "The rehearsal was broken off: the confined Blender crashed (signal 6); it printed"
    )
    assert message.endswith("”.")
    assert len(message) < 500
    assert message.isprintable()


def test_the_pipe_is_handed_over_and_writes_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    reading, writing = os.pipe()
    with ours, theirs, os.fdopen(reading, "rb") as answers:
        answering.hand_over(ours, writing)
        os.close(writing)
        taken = answering.take(theirs)
        assert os.get_inheritable(taken)
        monkeypatch.setenv(answering.VARIABLE, str(taken))
        say = answering.opened()
        assert answering.VARIABLE not in os.environ
        assert not os.get_inheritable(taken)
        say({"done": 1.5})
        with pytest.raises(ValueError, match="not JSON compliant"):
            say({"done": float("nan")})
        del say
        assert answers.read() == b'{"done": 1.5}\n', "and the pipe ends"


@pytest.mark.parametrize("sent", [b"", b"{}\n"], ids=["nothing", "something else"])
def test_a_launcher_that_gets_no_pipe_says_so(sent: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            ours.sendall(sent)
        with pytest.raises(OSError, match="handed over no pipe for answers"):
            answering.take(theirs)


def test_a_program_that_was_given_no_pipe_has_none() -> None:
    with pytest.raises(KeyError, match=answering.VARIABLE):
        answering.opened()


@pytest.mark.usefixtures("_scene")
def test_a_child_that_cannot_be_imported_says_what_it_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        rehearsal, "find", lambda _named: program.Program((sys.executable, "-c", "no"), (), ())
    )
    with pytest.raises(ExternalServiceError, match=r"exit code 1\); it printed last: “.*NameError.*no"):
        report_of("result = 1")
