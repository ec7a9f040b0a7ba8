# SPDX-License-Identifier: GPL-3.0-or-later
"""Many rehearsals, every attack without the inner walls, and a large scene: `make soak`."""

from __future__ import annotations

import os
import statistics
import time
from array import array
from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox import confinement
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import pool as pools
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import prepare, rehearse

from support.confinement.confined_attacks import run_confined
from support.confinement.rehearsing import bare_program, rehearsals, report_of
from support.running.processes import descendants, resident
from support.sandboxing import sandbox_cases

REHEARSALS = int(os.environ.get("MCP_BRIDGE_SOAK_REHEARSALS", "500"))
#: Vertices of a scene whose file has about 1 GB.
LARGE = 16_000_000
ORDINARY = "import bpy\nbpy.ops.mesh.primitive_cube_add(location=(3, 0, 0))\nresult = len(bpy.data.objects)"


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    with rehearsals(tmp_path) as folder:
        yield folder


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _zygote_mb() -> float:
    """0 where nothing can be copied here."""
    zygote = pools.current()._zygote
    return resident(confinement.current().status(zygote.handle).pid) / 2**20 if zygote else 0.0


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.timeout(3600)
def test_many_rehearsals_leave_nothing(base: Path) -> None:
    seconds = []
    settled = (0.0, 0, 0.0)
    for number in range(REHEARSALS):
        begin = time.perf_counter()
        assert report_of(ORDINARY, pictures=True)["result"] == 4
        seconds.append(time.perf_counter() - begin)
        if number == REHEARSALS // 10:
            settled = (_resident_mb(), _open_files(), _zygote_mb())
    time.sleep(1.0)
    folders = [path for run in base.iterdir() for path in run.iterdir() if len(path.name) == 16]
    copies = [path for run in base.iterdir() for path in (run / "shared").iterdir()]
    grown, files = _resident_mb() - settled[0], _open_files() - settled[1]
    zygote = _zygote_mb() - settled[2]
    print(
        f"\n{REHEARSALS} rehearsals back to back: median {statistics.median(seconds):.2f} s, {grown:+.1f} MB, the "
        f"zygote {zygote:+.1f} MB, {files:+d} open files, {confinement.counts()}"
    )
    assert len(folders) <= 3, (
        "the zygote's folder, the warm child's, and perhaps one that is just being removed"
    )
    assert len(copies) <= 1
    assert confinement.counts().running <= 3
    assert len(descendants(os.getpid())) <= 3
    assert grown < 16
    assert zygote < 20
    assert files <= 12


@pytest.mark.timeout(300)
@pytest.mark.parametrize("attack", sandbox_cases.attacks(), ids=lambda attack: attack.id)
def test_an_attack_without_inner_walls_reaches_nothing(
    attack: sandbox_cases.Attack, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "find", bare_program)
    monkeypatch.setattr(rehearse, "TIME_LIMIT_S", 3.0)
    monkeypatch.setattr(prepare, "_OVERHEAD_S", 3.0)
    assert run_confined(attack) == []


@pytest.mark.timeout(1800)
def test_a_large_scene(base: Path) -> None:
    mesh = bpy.data.meshes.new("Large")
    mesh.vertices.add(LARGE)
    mesh.vertices.foreach_set("co", array("f", bytes(12 * LARGE)))
    for name in range(4):
        mesh.attributes.new(f"weight{name}", "FLOAT_VECTOR", "POINT")
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Large", mesh))
    begin = time.perf_counter()
    prepared = prepare.prepare()
    report = rehearse.rehearse(prepared, "import bpy\nbpy.data.objects['Large'].location.x = 1").report
    size = prepared.copy.size / 2**30
    print(
        f"\n{size:.2f} GB: window held for {prepared.copy.seconds:.2f} s, {time.perf_counter() - begin:.1f} s in all, "
        f"{report['peak_memory_mb']:,.0f} MB at most, {report['seconds']}"
    )
    assert report["outcome"] == "success", report["message"]
    assert [block["name"] for block in report["difference"]["changed"]] == ["Large"]
