# SPDX-License-Identifier: GPL-3.0-or-later
"""Suggestions of similar names, and texts in error messages that stay short."""

from __future__ import annotations

from bl_ext.user_default.mcp_bridge.base.similar_names import did_you_mean, quoted


def test_the_nearest_names_whatever_their_case() -> None:
    known = ["Table Leg", "Table Top", "Camera"]
    assert did_you_mean("table leg", known) == " Did you mean 'Table Leg' or 'Table Top'?"
    assert did_you_mean("Camrea", known) == " Did you mean 'Camera'?"
    assert did_you_mean("Zebra", known) == ""


def test_a_name_that_no_name_can_be_is_not_compared() -> None:
    assert did_you_mean("x" * 10_000_000, ["x"] * 10) == ""


def test_an_error_repeats_no_more_than_fits() -> None:
    assert quoted("Cube") == "'Cube'"
    assert quoted("x" * 1000) == repr("x" * 80 + "…")
