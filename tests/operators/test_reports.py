# SPDX-License-Identifier: GPL-3.0-or-later
"""What a button says if its work is not possible."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.operators.reports import reports_errors


class Button:
    """An operator without Blender: it keeps what it reports."""

    def __init__(self) -> None:
        self.said: list[tuple[set[str], str]] = []

    def report(self, level: set[str], text: str) -> None:
        self.said.append((level, text))


def test_an_error_of_ours_is_reported_and_cancels_the_button() -> None:
    @reports_errors
    def execute(_button: Any, _context: Any) -> set[Any]:
        raise ExternalServiceError("the disk is full: make room")

    button = Button()
    assert execute(button, None) == {"CANCELLED"}
    assert button.said == [({"ERROR"}, "the disk is full: make room")]


def test_any_other_error_and_a_result_go_through() -> None:
    @reports_errors
    def execute(_button: Any, context: Any) -> set[Any]:
        return {context["done"]}

    assert execute(Button(), {"done": "FINISHED"}) == {"FINISHED"}
    with pytest.raises(KeyError):
        execute(Button(), {})
