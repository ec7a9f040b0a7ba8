# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's register and unregister, through Blender's own switch for add-ons."""

from __future__ import annotations

import addon_utils

NAME = "bl_ext.user_default.mcp_bridge"


def test_comes_up_again_after_it_was_disabled() -> None:
    addon_utils.disable(NAME)
    assert addon_utils.check(NAME)[1] is False
    assert addon_utils.enable(NAME) is not None
    assert addon_utils.check(NAME)[1] is True
