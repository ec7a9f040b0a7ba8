# SPDX-License-Identifier: GPL-3.0-or-later
"""A check that fails ends the run, whatever else fails on the way."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.growth import geometry

from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")


def _fails(*_arguments: object) -> None:
    raise RuntimeError("broken on purpose")


@pytest.mark.parametrize("also", [(), ("_defuse_all", "_defuse")])
def test_a_failed_estimate_ends_the_run_even_if_nothing_can_be_defused(
    also: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("weigh", *also):
        monkeypatch.setattr(geometry, name, _fails)
    script = "try:\n    bpy.context.object.modifiers.new('a', 'ARRAY')\nexcept Exception:\n    pass\nresult = 'went on'"
    with pytest.raises(PolicyError, match=r"cannot tell how much geometry a step would make.*RuntimeError"):
        result(script)
