# SPDX-License-Identifier: GPL-3.0-or-later
"""What formatting keeps of one run for the next."""

from __future__ import annotations

from bl_ext.user_default.mcp_bridge.sandbox.guard.values import text

from support.sandboxing.language import run


def test_short_templates_are_parsed_once_and_long_ones_are_not_kept() -> None:
    text._parse.cache_clear()
    code = "short = '{}-{}'\nlong = 'x' * 2000 + '{}'\na = short.format(1, 2) + short.format(3, 4)\nb = long.format(5)"
    names = run(code)
    assert (names["a"], names["b"][-2:]) == ("1-23-4", "x5")
    kept = text._parse.cache_info()
    assert (kept.hits, kept.currsize) == (1, 1)
