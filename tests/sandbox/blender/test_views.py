# SPDX-License-Identifier: GPL-3.0-or-later
"""What `import` of Blender's modules gives a script."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import NeedsRehearsal, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.facts.blender_modules import AS_THEY_ARE
from bl_ext.user_default.mcp_bridge.sandbox.reference import rna
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.sandbox.run.validate import validate

from support.running import fork

pytestmark = pytest.mark.usefixtures("fresh_file")


@pytest.mark.parametrize("name", sorted(AS_THEY_ARE))
def test_a_module_that_nothing_has_imported_yet_can_be_imported(name: str) -> None:
    def first() -> dict[str, Any]:
        for each in [each for each in sys.modules if each.startswith("bpy_extras.")]:
            del sys.modules[each]
        return execute.execute_blender_code({"code": f"from {name} import *"})

    assert fork.run(first)["status"] == "success"


def test_add_ons_are_left_as_they_are_and_the_result_says_so() -> None:
    script = (
        "import addon_utils\n"
        "result = [addon_utils.check('cycles'), addon_utils.check('rigify')]\n"
        "result.append(addon_utils.enable('rigify', default_set=True))"
    )
    ran = execute.execute_blender_code({"code": script})
    assert ran["result"] == [[True, True], [False, False], None]
    assert ran["warnings"] == [
        "the add-on rigify was left as it is: the user switches add-ons on, in Edit > Preferences > Add-ons"
    ]


def test_the_rest_of_a_module_of_blenders_is_refused_with_what_to_do() -> None:
    with pytest.raises(PolicyError, match="ask the user to switch one on"):
        execute.execute_blender_code({"code": "import addon_utils\naddon_utils.paths()"})


def test_validation_lets_through_what_a_script_gets_of_blenders_modules() -> None:
    for line in (
        "from bpy.path import abspath",
        "from addon_utils import check",
        "from bmesh.utils import face_flip",
    ):
        found = validate(line, rna.current())
        assert found.is_valid, [line, *map(str, found.errors)]
    assert not validate("from addon_utils import paths", rna.current()).is_valid


_POINTS = """
from bpy_extras import mesh_utils
mesh = bpy.data.meshes['Cube']
mesh.calc_loop_triangles()
result = len(mesh_utils.triangle_random_points({}, mesh.loop_triangles))
"""


def test_random_points_are_counted_before_they_are_made() -> None:
    assert execute.execute_blender_code({"code": f"import bpy\n{_POINTS.format(5)}"})["result"] == 60
    with pytest.raises(NeedsRehearsal, match=r"triangle_random_points\(\).* makes about 12,000,000 elements"):
        execute.execute_blender_code({"code": f"import bpy\n{_POINTS.format(10**6)}"})
