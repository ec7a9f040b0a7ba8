# SPDX-License-Identifier: GPL-3.0-or-later
"""A confined Blender that opens a large scene before the next rehearsal, and uses it only if it is still the same."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.base.errors import LimitExceeded
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import (
    ahead,
    child,
    open_scene,
    prepare,
    rehearse,
    snapshot,
)
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import pool as pools
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal.report import Report
from bl_ext.user_default.mcp_bridge.scene.changes import difference

from support.confinement.rehearsing import rehearsals
from support.running import fork

#: Its result: where the cube is, how many objects there are, and the copy that the child has opened.
SCRIPT = """
import bpy
result = [round(bpy.data.objects['Cube'].location.x), len(bpy.data.objects), bpy.data.filepath.split("/")[-1]]
"""


@pytest.fixture(scope="module", autouse=True)
def _rehearsals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with rehearsals(tmp_path_factory.mktemp("ahead")):
        yield


@pytest.fixture(autouse=True)
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    monkeypatch.setattr(prepare, "_LARGE_MB", 0)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The copies that children have opened before their scripts. No child waits or is chosen before the test."""
    for thread in threading.enumerate():
        if "next rehearsal" in thread.name:
            thread.join()
    pools.current().renew()
    found: list[Path] = []
    open_ahead = pools.Child.open_ahead

    def noted(self: pools.Child, copy: snapshot.Snapshot, seconds: float) -> None:
        open_ahead(self, copy, seconds)
        found.append(copy.path)

    monkeypatch.setattr(pools.Child, "open_ahead", noted)
    return found


def _rehearsed(script: str = SCRIPT) -> tuple[Report, str]:
    """Return the report, and the name of this rehearsal's copy."""
    prepared = prepare.prepare()
    report = rehearse.rehearse(prepared, script, pictures=False).report
    assert report["outcome"] == "success", report["message"]
    return report, prepared.copy.path.name


def _until(found: Callable[[], object]) -> None:
    until = time.monotonic() + 60
    while not found():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_the_next_rehearsal_of_the_same_scene_opens_nothing(opened: list[Path]) -> None:
    first, name = _rehearsed()
    assert first["result"] == [0, 3, name]
    _until(lambda: opened)
    second, _ = _rehearsed()
    assert second["result"] == [0, 3, name]
    assert second["difference"] == first["difference"]


def test_a_scene_that_has_changed_is_opened(opened: list[Path]) -> None:
    _rehearsed()
    _until(lambda: opened)
    bpy.data.objects["Cube"].location.x = 7
    report, name = _rehearsed()
    assert report["result"] == [7, 3, name]


def test_what_a_script_did_in_a_rehearsal_is_not_in_the_next(opened: list[Path]) -> None:
    """Back to back, so that the next one comes while a child opens the scene."""
    for _ in range(3):
        report, _ = _rehearsed(SCRIPT + "\nbpy.data.objects['Cube'].location.x = 9")
        assert report["result"][:2] == [0, 3]
        [cube] = report["difference"]["changed"]
        assert cube["changes"] == [{"property": "location", "before": [0.0] * 3, "after": [9.0, 0.0, 0.0]}]


def test_after_a_run_the_scene_is_opened_as_the_script_has_left_it(
    monkeypatch: pytest.MonkeyPatch, opened: list[Path]
) -> None:
    monkeypatch.setattr(ahead, "_MOST_STILL_S", 60.0)  # however busy this machine is
    _, former = _rehearsed()
    bpy.data.objects["Cube"].location.x = 5
    main_thread.start()
    try:
        ahead.after_run()
        main_thread.pump(lambda: bool(main_thread.waiting()))
    finally:
        main_thread.stop()
    assert ahead._newest is not None
    newest = ahead._newest.copy.path
    assert newest.name != former
    _until(lambda: newest in opened)
    report, _ = _rehearsed()
    assert report["result"] == [5, 3, newest.name]


@pytest.mark.parametrize("at", ["_open", "choose", "ready", "open_ahead"])
def test_of_two_copies_the_newer_one_is_opened(
    at: str, monkeypatch: pytest.MonkeyPatch, opened: list[Path]
) -> None:
    """Wherever the thread of the older one is when the newer one comes."""
    owner = {"_open": ahead, "choose": pools.Pool}.get(at, pools.Child)
    original = getattr(owner, at)
    calls: list[object] = []
    goes_on = threading.Event()

    def delayed(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 1:
            assert goes_on.wait(60)
        return original(*arguments)

    monkeypatch.setattr(owner, at, delayed)
    older = prepare.prepare()
    ahead.open_copy(older)
    _until(lambda: calls)
    bpy.data.objects["Cube"].location.x = 5
    newer = prepare.prepare()
    ahead.open_copy(newer)
    if at != "choose":  # only one thread at a time chooses a child
        _until(lambda: newer.copy.path in opened)
    goes_on.set()
    _until(lambda: not (older.copy.path.exists() or newer.copy.path.exists()))
    monkeypatch.undo()
    monkeypatch.setattr(prepare, "_LARGE_MB", 0)
    report, _ = _rehearsed()
    assert report["result"] == [5, 3, newer.copy.path.name]


def test_a_child_opens_one_scene_only(opened: list[Path]) -> None:
    """Nothing of another scene, such as which view layer was active, is left for the rehearsal of the next one."""
    _rehearsed()
    _until(lambda: opened)
    bpy.context.view_layer.name = "First"
    bpy.context.scene.view_layers.new("ViewLayer")
    script = "import bpy\nresult = [bpy.context.view_layer.name, bpy.data.filepath.split('/')[-1]]"
    report, name = _rehearsed(script)
    pools.current().renew()
    fresh, other = _rehearsed(script)
    assert report["result"] == [fresh["result"][0], name]
    assert fresh["result"][1] == other


def test_a_changed_library_is_read_again(opened: list[Path], tmp_path: Path) -> None:
    library = tmp_path / "library.blend"
    for above in (tmp_path, *tmp_path.parents[:3]):
        above.chmod(above.stat().st_mode | 0o011)
    bpy.data.libraries.write(str(library), {bpy.data.objects["Light"]}, fake_user=True)
    with bpy.data.libraries.load(str(library), link=True) as (_, into):
        into.objects = ["Light"]
    bpy.context.collection.objects.link(into.objects[0])
    _rehearsed()
    _until(lambda: opened)
    library.touch()
    report, name = _rehearsed()
    assert report["result"] == [0, 4, name]


def test_a_child_that_dies_while_it_opens_the_scene_is_replaced(
    monkeypatch: pytest.MonkeyPatch, opened: list[Path]
) -> None:
    _rehearsed()
    _until(lambda: opened)
    child_ = pools.current()._waiting[0]
    assert child_.scene == "open"
    os.kill(child_.status().pid, signal.SIGKILL)
    report, name = _rehearsed()
    assert report["result"] == [0, 3, name]


def test_a_late_answer_is_never_taken_for_another(
    monkeypatch: pytest.MonkeyPatch, opened: list[Path]
) -> None:
    prepared = prepare.prepare()
    child_ = pools.current().choose(prepared.needs)
    assert child_
    child_.ready()
    with pytest.raises(pools.ChildFailed, match="did not answer in time"):
        child_.open_ahead(prepared.copy, 0.0)
    bpy.data.objects["Cube"].location.x = 4
    report, name = _rehearsed()
    assert report["result"] == [4, 3, name]


@pytest.mark.parametrize("why", ["small", "painted", "short of memory"])
def test_what_is_not_worth_it_is_not_opened(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if why == "small":
        monkeypatch.setattr(prepare, "_LARGE_MB", 32)
    elif why == "painted":
        image = bpy.data.images.new("Painted", 4, 4)
        image.pixels = [1.0] * 64
    else:
        monkeypatch.setattr(ahead, "available_bytes", lambda: 0)
    prepared = prepare.prepare()
    files = [prepared.copy.path, *prepared.copy.pixels.values()]
    ahead.open_copy(prepared)
    assert ahead._newest is not prepared
    assert ahead._last is None
    assert not any(file.exists() for file in files)


def test_nobody_copies_a_scene_that_makes_the_window_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(main_thread, "run", lambda *_, **__: asked.append(1))
    for seconds, count in ((0.11, 0), (0.09, 1)):
        monkeypatch.setattr(ahead, "_last", (pools.current(), seconds))
        ahead.after_run()
        assert len(asked) == count


def test_a_child_that_cannot_open_it_does_so_with_its_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pools.current().renew()
    failed = []
    open_ahead = pools.Child.open_ahead

    def broken(self: pools.Child, copy: snapshot.Snapshot, seconds: float) -> None:
        copy.path.write_bytes(b"BLENDER-v402 and nothing more")
        failed.append(copy)
        open_ahead(self, copy, seconds)

    monkeypatch.setattr(pools.Child, "open_ahead", broken)
    _rehearsed()
    _until(lambda: failed)
    report, name = _rehearsed()
    assert report["result"] == [0, 3, name]


def test_the_memory_of_opening_and_comparing_is_not_the_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    growth = SimpleNamespace(estimates={"object Cube": 3e6})
    request = {"live_memory_limit_mb": 100}
    now = {"peak": 3000 << 20, "resident": 520 << 20}
    monkeypatch.setattr(child, "peak_bytes", lambda: now["peak"])
    monkeypatch.setattr(child, "resident_bytes", lambda: now["resident"])
    child._check_memory(request, growth, 500 << 20, 3000 << 20)  # type: ignore[arg-type]
    for peak, resident in ((3000, 700), (3001, 520)):
        now.update(peak=peak << 20, resident=resident << 20)
        with pytest.raises(LimitExceeded, match="more than the 100 MiB that a script may use"):
            child._check_memory(request, growth, 500 << 20, 3000 << 20)  # type: ignore[arg-type]


def test_a_scene_that_nobody_needs_is_given_up(tmp_path: Path) -> None:
    """The Blender that has it open ends, and removes its files."""
    copy = tmp_path / "copy.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(copy), copy=True, compress=False)
    before = difference.mark(tmp_path / "before.blend")

    def wait() -> None:
        with open_scene.OpenScene(copy, before).kept_for(0.05):
            time.sleep(30)

    with pytest.raises(fork.Died, match="exit code 0"):
        fork.run(wait)
    assert not list(tmp_path.iterdir())
    assert child._KEEP_S == 600
