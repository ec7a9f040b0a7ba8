# SPDX-License-Identifier: GPL-3.0-or-later
"""Work on render targets in Activity: under way and ended, with what failed and the last frame's picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import jobs
from bl_ext.user_default.mcp_bridge.operators import target_jobs
from bl_ext.user_default.mcp_bridge.panels import target_jobs as panel

from support.on_screen import layout

DETAILS = {"where": "night", "folder": "/shots", "frames": 8, "done": 2, "failures": []}
FAILED = {"frame": 3, "worker": "n1", "why": "no memory"}


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[jobs.Jobs]:
    made = jobs.Jobs()
    monkeypatch.setattr(jobs, "registry", made)
    yield made
    target_jobs.unregister()
    target_jobs.register()


@pytest.fixture
def jpeg(tmp_path: Path) -> bytes:
    picture = bpy.data.images.new("small", 32, 18)
    picture.filepath_raw, picture.file_format = str(tmp_path / "small.jpg"), "JPEG"
    picture.save()
    bpy.data.images.remove(picture)
    return (tmp_path / "small.jpg").read_bytes()


def test_a_job_is_shown_until_after_its_end(registry: jobs.Jobs, jpeg: bytes) -> None:
    registry.begin("import", "Import a chair", "cursor")
    handle = registry.begin("render", "Render of 8 frames, turn", "cursor")
    handle.report(2, 8, "2 of 8 frames from night")
    handle.show(DETAILS, None)
    [shown] = target_jobs.gather()
    assert (shown.title, shown.state) == ("Render of 8 frames, turn", "working")
    assert (shown.said, shown.failures, shown.picture) == ("2 of 8 frames from night", (), 0)
    handle.show({**DETAILS, "failures": [FAILED] * 5}, jpeg)
    handle.report(7, 8, "7 of 8 frames from night, 1 failed")
    handle.fail("1 of 8 frames failed 3 times")
    [shown] = target_jobs.gather()
    assert shown.state == "failed"
    assert shown.said == "7 of 8 frames from night, 1 failed, in /shots"
    assert shown.failures == (*["Frame 3 failed on n1: no memory"] * 3, "and 2 more")
    [(picture, name)] = target_jobs._shown.values()
    assert picture == jpeg
    assert tuple(target_jobs._pictures[name].image_size) == (32, 18)
    box, drawn = layout.layout()
    panel._draw(box, shown, layout.CONTEXT)
    assert "Render of 8 frames, turn" in drawn.text
    assert "Frame 3 failed on n1: no memory" in drawn.text
    assert "ERROR" in drawn.icons


def test_a_file_that_failed_is_named(registry: jobs.Jobs) -> None:
    failure = {"file": "/shots/a.blend", "worker": "n1", "why": "no memory"}
    details = {"where": "night", "folder": "/shots", "files": 2, "done": 1, "failures": [failure]}
    registry.begin("files", "Run a script in 2 files", "cursor").show(details, None)
    [shown] = target_jobs.gather()
    assert shown.failures == ("/shots/a.blend failed on n1: no memory",)


def test_three_are_shown_and_the_pictures_of_others_go(registry: jobs.Jobs, jpeg: bytes) -> None:
    for number in range(5):
        registry.begin("render", f"Render {number}", "cursor").show(DETAILS, jpeg)
        target_jobs.gather()
    assert [shown.title for shown in target_jobs.gather()] == ["Render 4", "Render 3", "Render 2"]
    assert len(target_jobs._shown) == len(target_jobs._pictures) == 3
