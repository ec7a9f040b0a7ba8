# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.approvals.alerts import outside


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("import os\nos.remove('x')", ("os",)),
        ("import os.path as p, subprocess", ("os.path", "subprocess")),
        ("from urllib.request import urlopen", ("urllib.request",)),
        ("import requests", ("requests",)),
        ("open('/etc/passwd').read()", ("open()",)),
        ("__import__('os')", ("__import__()",)),
        ("import bpy\nbpy.ops.script.python_file_run(filepath='x')", ("bpy.ops.script",)),
        ("import bpy, math, random\nfrom mathutils import Vector\nbpy.ops.mesh.primitive_cube_add()", ()),
        ("from __future__ import annotations\nimport json", ()),
        ("from . import os", ()),
        ("def open_door(): pass\nopen_door()", ()),
        ("this is prose, import os", ()),
        ("import os\n" * 20, ("os",)),
    ],
)
def test_what_reaches_outside_is_named(script: str, found: tuple[str, ...]) -> None:
    assert outside(script) == found
