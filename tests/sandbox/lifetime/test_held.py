# SPDX-License-Identifier: GPL-3.0-or-later
"""One search finds the values for all questions about what a script holds."""

from __future__ import annotations

import re
from pathlib import Path

from bl_ext.user_default.mcp_bridge.sandbox import lifetime
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import references, stale
from bl_ext.user_default.mcp_bridge.sandbox.lifetime.layout import IS_PART


def test_each_type_that_is_looked_for_is_searched() -> None:
    files = Path(lifetime.__file__).parent.rglob("*.py")
    asked = {name for file in files for name in re.findall(r"held\.find\((\w+)\)", file.read_text("utf-8"))}
    assert len(asked) > 4
    tables = {name: getattr(references, name, getattr(stale, name, None)) for name in asked}
    assert tables["PARTS"] is IS_PART
    assert all(any(table is each for each in references._OF_ANY) for table in tables.values()), tables.keys()
