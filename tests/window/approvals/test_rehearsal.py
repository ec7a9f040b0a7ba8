# SPDX-License-Identifier: GPL-3.0-or-later
"""A rehearsal from a Blender with a window: its own program is started again, without one."""

from __future__ import annotations

from support.on_screen.window import Window


def test_the_window_goes_on_and_the_scene_stays(window: Window) -> None:
    report, location, pictures, held_up = window.run(
        """
import threading
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import pool as pools, prepare, rehearse
prepared = prepare.prepare()
done = []
script = "import bpy\\nbpy.data.objects['Cube'].location.z = 2\\nresult = bpy.app.version_string"
thread = threading.Thread(target=lambda: done.append(rehearse.rehearse(prepared, script)))
thread.start()
thread.join()
pools.shutdown()
result = [done[0].report, bpy.data.objects["Cube"].location.z, sorted(done[0].pictures), prepared.copy.seconds]
""",
        timeout=90.0,
    )
    assert report["outcome"] == "success", report["message"]
    assert report["result"] == window.run("result = bpy.app.version_string")
    assert report["difference"]["changed"][0]["changes"] == [
        {"property": "location", "before": [0.0, 0.0, 0.0], "after": [0.0, 0.0, 2.0]}
    ]
    assert sorted(report["confinement"]["in_force"]) == ["network", "process", "read", "write"]
    assert (location, pictures) == (0.0, ["after", "before"])
    assert held_up < 0.5
