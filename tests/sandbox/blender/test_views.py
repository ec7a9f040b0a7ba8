# SPDX-License-Identifier: GPL-3.0-or-later
"""What `import` of Blender's modules gives a script."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.facts.blender_modules import AS_THEY_ARE
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support import fork

pytestmark = pytest.mark.usefixtures("fresh_file")


@pytest.mark.parametrize("name", sorted(AS_THEY_ARE))
def test_a_module_that_nothing_has_imported_yet_can_be_imported(name: str) -> None:
    def first() -> dict[str, Any]:
        for each in [each for each in sys.modules if each.startswith("bpy_extras.")]:
            del sys.modules[each]
        return execute.execute_blender_code({"code": f"from {name} import *"})

    assert fork.run(first)["status"] == "success"
