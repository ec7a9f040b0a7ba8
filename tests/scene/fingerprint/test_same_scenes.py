# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether two files hold the same scenes: any change that a file keeps counts, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.scene.fingerprint.saved_file import same_scenes

from support.running import fork

#: Data-blocks of windows, which a rehearsal opens a copy without; brushes, of which there are too many; and the
#: collection of all data-blocks.
LEFT_OUT = {"window_managers", "screens", "workspaces", "brushes", "all_ids"}


@pytest.fixture(autouse=True)
def _scene() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    bpy.ops.object.modifier_add(type="SUBSURF")
    bpy.ops.object.text_add()
    bpy.ops.object.armature_add()
    bpy.context.object["number"] = 1.0
    bpy.data.objects["Cube"].keyframe_insert("location", frame=1)
    bpy.data.scenes.new("Other")
    _is_visited("Other")
    bpy.context.view_layer.update()


def _save(path: Path) -> Path:
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=False)
    return path


def _same_after(folder: Path, change: Callable[[], object]) -> bool:
    before = _save(folder / "0.blend")
    change()
    return same_scenes(before, _save(folder / "1.blend"))


def test_nothing_was_changed(tmp_path: Path) -> None:
    assert _same_after(tmp_path, lambda: None)


def test_what_blender_leaves_undefined_does_not_count(tmp_path: Path) -> None:
    """Blender 5.0 writes whatever was in memory behind the end of a text of `GLOB`."""
    file = _save(tmp_path / "0.blend")
    written = file.read_bytes()
    is_old = written.startswith(b"BLENDER-v")
    begin = written.index(b"GLOB") + (24 if is_old else 32)
    other = tmp_path / "other" / file.name
    other.parent.mkdir()
    for start, end in [(80, 1104)] if is_old else [(80, 1104), (1104, 1168)]:
        for at, counts in ((start, True), (end - 1, False)):
            changed = bytearray(written)
            changed[begin + at] ^= 1
            other.write_bytes(changed)
            assert same_scenes(file, other) is not counts


_NOT_OF_SCENES = (b"WM\0\0", b"SR\0\0", b"SN\0\0", b"WS\0\0", b"DNA1", b"USER")


def test_a_pointer_to_what_is_not_in_the_file_does_not_count(tmp_path: Path) -> None:
    """Newer Blenders number pointers; the same scene can get other numbers. This changes a hundred of each kind."""
    file = _save(tmp_path / "0.blend")
    written = file.read_bytes()
    size = 24 if written.startswith(b"BLENDER-v") else 32
    at = 12 if size == 24 else 17
    blocks: set[int] = set()
    numbers: list[tuple[int, int]] = []  # where they are, and what they are
    near: set[int] = set()
    counts = False
    while (code := written[at : at + 4]) != b"ENDB":
        length = int.from_bytes(
            written[at + 4 : at + 8] if size == 24 else written[at + 16 : at + 24], "little"
        )
        address = int.from_bytes(written[at + 8 : at + 16], "little")
        blocks.add(address)
        if code != b"DATA":
            near, counts = set(), code not in _NOT_OF_SCENES
        if address >> 48:
            near.add(address >> 16)
        at += size
        if code == b"DATA" and counts:
            words = [int.from_bytes(written[i : i + 8], "little") for i in range(at, at + length - 7, 8)]
            numbers += [(at + 8 * n, word) for n, word in enumerate(words) if word >> 16 in near]
        at += length
    kinds = {word in blocks for _at, word in numbers}
    assert kinds == ({True, False} if bpy.app.version >= (5, 0) else set())
    other = tmp_path / "other" / file.name
    other.parent.mkdir()
    for leads_to_block in kinds:
        some = [(at, word) for at, word in numbers if (word in blocks) is leads_to_block]
        for at, word in some[:: max(1, len(some) // 100)]:
            free = next(one for one in range(word ^ 0x8000, 1 << 64, 16) if one not in blocks)
            other.write_bytes(written[:at] + free.to_bytes(8, "little") + written[at + 8 :])
            assert same_scenes(file, other) is not leads_to_block, at


def test_what_only_moved_in_memory_was_not_changed(tmp_path: Path) -> None:
    """Custom properties are written in their order, from wherever they are."""

    def write_anew() -> None:
        holder = bpy.data.objects["Armature"]
        kept = [bytes(1000) for _ in range(100)]
        holder["number"] = 2.0
        del holder["number"], kept
        holder["number"] = 1.0

    assert _same_after(tmp_path, write_anew)


def test_windows_do_not_count(tmp_path: Path) -> None:
    def change() -> None:
        bpy.data.screens[0].show_statusbar = not bpy.data.screens[0].show_statusbar
        bpy.data.workspaces[0].name = "Another"

    assert _same_after(tmp_path, change)


def _other_scene() -> None:
    bpy.context.window.scene = bpy.data.scenes["Other"]


def _is_visited(scene: str) -> None:
    """Blender changes a scene when a window first shows it."""
    before = bpy.context.window.scene
    bpy.context.window.scene = bpy.data.scenes[scene]
    bpy.context.view_layer.update()
    bpy.context.window.scene = before


def _vertex() -> None:
    bpy.data.meshes["Cube"].vertices[7].co.z += 0.01


CHANGES: dict[str, Callable[[], object]] = {
    "another scene is open": _other_scene,
    "a vertex": _vertex,
    "a custom property": lambda: bpy.data.objects["Armature"].__setitem__("number", 1.5),
    "the selection": lambda: bpy.data.objects["Cube"].select_set(not bpy.data.objects["Cube"].select_get()),
    "the mode": lambda: bpy.ops.object.mode_set(mode="EDIT"),
    "a key": lambda: bpy.data.objects["Cube"].keyframe_insert("location", frame=9),
    "a new data-block": lambda: setattr(bpy.data.meshes.new("New"), "use_fake_user", True),
    "an empty data-block less": lambda: bpy.data.scenes.remove(bpy.data.scenes["Other"]),
    "an order": lambda: bpy.data.objects["Cube"].modifiers.new("Second", "SUBSURF") and _swap(),
    "a parent": lambda: setattr(bpy.data.objects["Cube"], "parent", bpy.data.objects["Light"]),
}


def _swap() -> None:
    bpy.data.objects["Cube"].modifiers.move(0, 1)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_found(tmp_path: Path, change: Callable[[], object]) -> None:
    assert not _same_after(tmp_path, change)


def test_every_setting_that_a_file_keeps_counts(tmp_path: Path) -> None:
    """After a change of any setting the files differ, or Blender reads the same value from both."""
    alike: dict[tuple[str, str, str], tuple[Path, Path]] = {}
    tried = 0
    for kind, name, setting in list(_settings()):
        block = getattr(bpy.data, kind)[name]
        old = _plain(block, setting)
        tried += 1
        before = _save(tmp_path / f"{tried:04}0.blend")
        if not _change(block, setting):
            continue
        after = _save(tmp_path / f"{tried:04}1.blend")
        if same_scenes(before, after):
            alike[kind, name, setting] = before, after
        else:
            before.unlink()
            after.unlink()
        setattr(block, setting, old)
    assert tried > 300
    for (kind, name, setting), files in alike.items():
        first, second = (fork.run(_value, file, kind, name, setting) for file in files)
        assert first == second, f"{kind} {name}: {setting}"


def _settings() -> Iterator[tuple[str, str, str]]:
    for collection in bpy.data.bl_rna.properties:
        if collection.type != "COLLECTION" or collection.identifier in LEFT_OUT:
            continue
        for block in getattr(bpy.data, collection.identifier):
            for prop in block.bl_rna.properties:
                if prop.type in ("FLOAT", "INT", "BOOLEAN") and not prop.is_readonly:
                    yield collection.identifier, block.name, prop.identifier


def _change(block: Any, setting: str) -> bool:
    """Change a setting; return whether Blender took the change."""
    old = _plain(block, setting)
    prop = block.bl_rna.properties[setting]
    first = old[0] if isinstance(old, tuple) and old else old
    if isinstance(first, tuple):
        return False
    new = not first if isinstance(first, bool) else first + 1 if first + 1 <= prop.hard_max else first - 1
    try:
        setattr(block, setting, (new, *old[1:]) if isinstance(old, tuple) else new)
    except (TypeError, ValueError, RuntimeError, AttributeError):
        return False
    return _plain(block, setting) != old


def _plain(block: Any, setting: str) -> Any:
    value = getattr(block, setting)
    return (
        value
        if isinstance(value, bool | int | float)
        else tuple(part if isinstance(part, bool | int | float) else tuple(part) for part in value)
    )


def _value(file: Path, kind: str, name: str, setting: str) -> Any:
    bpy.ops.wm.open_mainfile(filepath=str(file), load_ui=False, use_scripts=False)
    block = getattr(bpy.data, kind).get(name)
    return None if block is None else _plain(block, setting)
