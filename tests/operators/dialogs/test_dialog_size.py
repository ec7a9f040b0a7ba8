# SPDX-License-Identifier: GPL-3.0-or-later
"""The dialog fits the window at every resolution scale."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.operators.dialogs.dialog_size import Size, in_window


def test_an_ordinary_window_has_room_for_all() -> None:
    assert in_window(1280, 800, 1.0) == Size(760, 109, 16, 11)


def test_at_twice_the_scale_there_is_less_of_everything() -> None:
    assert in_window(1280, 800, 2.0) == Size(608, 87, 4, 3)


@pytest.mark.parametrize("scale", [0.75, 1.0, 1.25, 1.5, 2.0])
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (1366, 768), (1920, 1080), (3840, 2160)])
def test_it_is_never_higher_or_wider_than_the_window(width: int, height: int, scale: float) -> None:
    found = in_window(width, height, scale)
    assert found.width * scale <= width
    assert (found.script_rows + found.summary_rows + 12) * 20 * scale <= height


def test_a_tiny_window_still_gets_a_few_rows() -> None:
    assert in_window(300, 200, 2.0) == Size(142, 20, 3, 3)
