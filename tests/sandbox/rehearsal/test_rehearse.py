# SPDX-License-Identifier: GPL-3.0-or-later
"""From the open scene to a report, in real confined Blenders."""

from __future__ import annotations

import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import Cancelled, ExternalServiceError
from bl_ext.user_default.mcp_bridge.base.process.resident_memory import resident_bytes
from bl_ext.user_default.mcp_bridge.sandbox import confinement
from bl_ext.user_default.mcp_bridge.sandbox.confinement.probe import EVERYTHING
from bl_ext.user_default.mcp_bridge.sandbox.confinement.process import Counts
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import pool as pools
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import prepare, program, rehearse, snapshot
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal.report import as_text

from support.confinement.rehearsing import bare_program, rehearsals, report_of

ORDINARY = """
    import bpy
    bpy.ops.mesh.primitive_cube_add(size=2, location=(0, 0, 3))
    bpy.context.object.name = "Lid"
    bpy.data.objects["Cube"].scale.z = 0.5
    print("two cubes")
    result = len(bpy.data.objects)
"""


#: Blenders that have one thread once they are warm.
COPIED = ((4, 2), (5, 0), (5, 2))


@pytest.fixture(scope="module", autouse=True)
def _rehearsals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with rehearsals(tmp_path_factory.mktemp("rehearsals")):
        yield


@pytest.fixture(autouse=True)
def _scene() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)


def test_lines_that_it_never_came_to_are_told() -> None:
    script = "import bpy\nif bpy.data.objects:\n    a = 1\nelse:\n    bpy.data.objects.remove(None)"
    report = rehearse.rehearse(prepare.prepare(), script, title="Branch").report
    assert (report["outcome"], report["unreached"]) == ("success", [5])


def test_an_ordinary_script_is_reported_and_the_scene_is_as_it_was() -> None:
    before = {item.name: tuple(item.scale) for item in bpy.data.objects}
    prepared = prepare.prepare()
    done = rehearse.rehearse(prepared, textwrap.dedent(ORDINARY), title="Lid")
    report = done.report
    assert (report["outcome"], report["result"], report["stdout"]) == ("success", 4, "two cubes\n")
    difference = report["difference"]
    assert [(block["kind"], block["name"]) for block in difference["added"]] == [
        ("Object", "Lid"),
        ("Mesh", "Cube.001"),
    ]
    [cube] = [block for block in difference["changed"] if block["kind"] == "Object"]
    assert cube["changes"] == [{"property": "scale", "before": [1.0, 1.0, 1.0], "after": [1.0, 1.0, 0.5]}]
    assert difference["totals"]["vertices"] == [8, 16]
    assert set(report["confinement"]["in_force"]) == set(EVERYTHING)
    assert 50 < report["peak_memory_mb"] < 2000
    assert set(done.pictures) == {"before", "after"}
    for picture in done.pictures.values():
        assert picture.startswith(b"\x89PNG\r\n")
        assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == (256, 144)
    assert done.pictures["before"] != done.pictures["after"]
    assert {item.name: tuple(item.scale) for item in bpy.data.objects} == before


def test_the_pictures_are_ones_that_blender_reads(tmp_path: Path) -> None:
    done = rehearse.rehearse(prepare.prepare(), "result = 1")
    file = tmp_path / "before.png"
    file.write_bytes(done.pictures["before"])
    image = bpy.data.images.load(str(file))
    pixels = list(image.pixels)
    middle = pixels[4 * (256 * 72 + 128) :][:3]
    corner = pixels[:3]
    assert max(abs(a - b) for a, b in zip(middle, corner, strict=True)) > 0.05, (
        "the cube is not the background"
    )


def test_a_scene_that_takes_long_to_draw_is_rehearsed_without_pictures() -> None:
    for number in range(3_000):
        bpy.context.collection.objects.link(bpy.data.objects.new(f"Empty {number}", None))
    done = rehearse.rehearse(prepare.prepare(), "result = 1")
    assert done.pictures == {}
    assert done.report["warnings"] == [
        "no pictures: 3,003 objects with 8 vertices take too long to draw; the tool `look` draws the open scene"
    ]


def test_the_report_reads_well() -> None:
    assert as_text(report_of(ORDINARY)).splitlines()[:-1] == [
        "The rehearsal went well.",
        "",
        "Added:",
        "  + Object 'Lid' (mesh, at (0, 0, 3), size 2 × 2 × 2)",
        "  + Mesh 'Cube.001' (8 vertices, 6 faces)",
        "",
        "Changed:",
        "  ~ Object 'Cube'",
        "      scale: (1, 1, 1) → (1, 1, 0.5)",
        "  ~ Collection 'Collection'",
        "      objects: + Lid",
        "",
        "In all: objects 3 → 4, meshes 1 → 2, vertices 8 → 16, faces 6 → 12",
        "",
        "It printed:",
        "  two cubes",
        "",
        "Its result: 4",
        "",
    ]


def test_the_scripts_own_error_is_reported_with_its_line() -> None:
    report = report_of("import bpy\nbpy.data.objects['Nobody'].location.x = 1")
    assert report["outcome"] == "error"
    assert (report["error"]["type"], report["error"]["line"]) == ("HandlerError", 2)
    assert report["error"]["cause"].startswith("KeyError")
    assert report["message"].startswith(
        "The rehearsal stopped (line 2): execute_blender_code failed: KeyError"
    )
    assert "difference" not in report


def test_what_the_sandbox_refuses_is_refused_in_a_rehearsal_too() -> None:
    report = report_of("import os\nos.remove('/important')")
    assert (report["outcome"], report["error"]["type"], report["error"]["line"]) == (
        "error",
        "PolicyError",
        2,
    )


def test_a_script_that_changes_nothing_says_so() -> None:
    assert "Nothing in the scene would change." in as_text(report_of("result = 1 + 1"))


def test_a_script_that_adds_very_many_objects_is_reported_on_too() -> None:
    report = report_of(
        """
        import bpy
        for number in range(400):
            building = bpy.data.objects.new(f"Building {number}", bpy.data.meshes.new("Building"))
            bpy.context.scene.collection.objects.link(building)
        """
    )
    assert report["outcome"] == "success", report["message"]
    assert report["difference"]["totals"]["objects"] == [3, 403]
    assert report["difference"]["left_out"] == {"added": 600}


def test_changes_in_edit_mode_and_unsaved_painting_are_in_the_copy() -> None:
    image = bpy.data.images.new("Painted", 4, 4)
    image.pixels[0:4] = (0.25, 0.5, 0.75, 1.0)
    image.use_fake_user = True
    bpy.context.view_layer.objects.active = bpy.data.objects["Cube"]
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.transform.translate(value=(0, 0, 5))
    report = report_of(
        """
        import bpy
        cube, image = bpy.data.objects["Cube"], bpy.data.images["Painted"]
        result = [cube.mode, min(v.co.z for v in cube.data.vertices), [round(p, 2) for p in image.pixels[:4]]]
        """
    )
    assert report["result"] == ["EDIT", 4.0, [0.25, 0.5, 0.75, 1.0]]
    assert bpy.context.object.mode == "EDIT", "the user is where they were"


def test_linked_libraries_are_reachable(tmp_path: Path) -> None:
    library = tmp_path / "library.blend"
    bpy.data.libraries.write(str(library), {bpy.data.objects["Cube"]})
    library.chmod(0o644)
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.objects = ["Cube"]
    bpy.context.scene.collection.objects.link(wanted.objects[0])
    report = report_of("import bpy\nresult = [len(o.data.vertices) for o in bpy.data.objects if o.data]")
    assert report["result"] == [8]


def test_the_scene_may_change_meanwhile() -> None:
    prepared = prepare.prepare()
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    report = rehearse.rehearse(prepared, "import bpy\nresult = len(bpy.data.objects)", pictures=False).report
    assert report["result"] == 3


def test_who_gives_scripts_more_time_gives_it_to_rehearsals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearse, "TIME_LIMIT_S", 0.2)
    slow = "import time\nbegan = time.monotonic()\nwhile time.monotonic() - began < 1: pass"
    assert "longer than 0.2 s" in report_of(slow)["message"]
    monkeypatch.setenv("BLENDER_MCP_TIME_LIMIT", "60")
    assert report_of(slow)["outcome"] == "success"


def test_a_rehearsal_can_be_cancelled() -> None:
    cancelled = threading.Event()
    threading.Timer(0.3, cancelled.set).start()
    begin = time.monotonic()
    with pytest.raises(Cancelled, match="The rehearsal was cancelled"):
        report_of("while True: pass", cancelled=cancelled.is_set)
    assert time.monotonic() - begin < 25  # and not the 30 s that a script may take


def test_memory_of_the_open_blender_counts_in_no_rehearsal() -> None:
    """A process inherits the peak of its parent in getrusage(2), so that a large Blender would fail each limit."""
    pools.shutdown()  # the next child is started, and not copied
    taken = bytearray(600 << 20)
    taken[::4096] = b"\1" * len(range(0, len(taken), 4096))
    report = report_of("result = 1")
    assert (report["outcome"], report["result"]) == ("success", 1)
    assert 50 < report["peak_memory_mb"] < 600 < resident_bytes() >> 20


def test_what_was_prepared_before_everything_was_shut_down_starts_nothing_any_more() -> None:
    """A worker that is late must not bring up a supervisor that nobody would end."""
    prepared = prepare.prepare()
    pools.shutdown()
    with pytest.raises(ExternalServiceError, match="The supervisor is closed: no process can be started"):
        rehearse.rehearse(prepared, "result = 1")
    assert pools._the_pool is None
    assert confinement.counts() == Counts()
    assert report_of("result = 1")["result"] == 1, "whoever asks anew gets a new one"


def test_the_last_failure_is_known_until_a_rehearsal_comes_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing_program(_named: object) -> program.Program:
        return program.Program((sys.executable, "-c", "raise SystemExit('no such thing')"), (), ())

    report_of("result = 1")
    assert pools.last_failure() == ""
    with monkeypatch.context() as patch:
        patch.setattr(prepare, "find", failing_program)
        with pytest.raises(ExternalServiceError) as raised:
            report_of("result = 1")
    assert pools.last_failure() == f"The last rehearsal could not be held: {raised.value}."
    assert "no such thing" in pools.last_failure()
    monkeypatch.setattr(prepare, "find", bare_program)
    report_of("import os; os._exit(0)")
    assert pools.last_failure().startswith(
        "The last rehearsal could not be held to its end: the confined Blender ended"
    )
    report_of("1 / 0")
    assert pools.last_failure() == "", "an error of the script is the rehearsal's result"
    with monkeypatch.context() as patch:
        patch.setattr(snapshot, "take", _no_copy)
        with pytest.raises(ExternalServiceError):
            prepare.prepare()
    assert pools.last_failure() == "The last rehearsal could not be held: the disk is full."
    report_of("result = 1")
    with monkeypatch.context() as patch:
        patch.setattr(confinement.current(), "means", _nothing_confines)
        with pytest.raises(confinement.Unconfined):
            prepare.prepare()
    assert pools.last_failure() == "", "the panel shows by itself that nothing confines a rehearsal"
    pools.current().failure = "The last rehearsal could not be held."
    pools.shutdown()
    assert pools.last_failure() == ""


def _nothing_confines() -> None:
    raise confinement.Unconfined("no means of confinement works here")


def _no_copy(_folder: Path) -> None:
    raise ExternalServiceError("the disk is full")


def test_a_copy_that_nobody_rehearses_on_goes() -> None:
    """A client that hangs up leaves the copy that was made for it."""
    prepared = prepare.prepare()
    path = prepared.copy.path
    assert path.exists()
    del prepared
    assert not path.exists()


@pytest.mark.skipif(
    bpy.app.version[:2] not in COPIED, reason="this Blender has threads of its own, and is not copied"
)
def test_this_blender_is_copied_and_the_script_cannot_tell_where_it_was_warm() -> None:
    report_of("result = 1")
    pool = pools.current()
    copies = pool._copies(prepare.prepare().needs, lambda: False)
    assert copies is not None
    report = report_of(
        "import bpy\nresult = [bpy.data.filepath, len(bpy.data.objects), bpy.context.scene.frame_end]"
    )
    assert report["result"][1:] == [3, 250], "nothing is left of what the zygote rehearsed to get warm"


def test_after_a_rehearsal_that_went_wrong_nothing_is_used_that_was_there_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prepare, "find", bare_program)
    report_of("result = 1")
    pool = pools.current()
    pool.warm(prepare.prepare().needs)
    before, waiting = pool._zygote, list(pool._waiting)
    report_of("import os; os._exit(0)")
    assert not set(waiting) & set(pool._waiting)
    assert pool._zygote is None or pool._zygote is not before


def test_a_warm_child_waits_for_the_next_one() -> None:
    report_of("result = 1")
    pool = pools.current()
    until = time.monotonic() + 30
    while not pool._waiting and time.monotonic() < until:
        time.sleep(0.01)
    first = pool._waiting[0]
    report_of("result = 2")
    assert first not in pool._waiting
    assert (
        confinement.current().wait(first.handle, 30.0).state != "running"
    )  # by itself, or ended by the pool
