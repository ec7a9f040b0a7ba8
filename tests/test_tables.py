# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of docs/settings.md and docs/clients.md say what the code says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge import sandbox
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.base.settings.setting import declared
from bl_ext.user_default.mcp_bridge.server.clients import stdio_shim
from bl_ext.user_default.mcp_bridge.server.clients.config import table

_DOCS = Path(__file__).resolve().parent.parent / "docs"
_FORMS = {"http": "HTTP", "ws": "WebSocket"}


def _rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the table that follows a heading, without its two head lines."""
    after = (_DOCS / page).read_text("utf-8").partition(f"{heading}\n")[2]
    found = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)
    assert found, f"no table after {heading!r} in {page}"
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in found[0].splitlines()][2:]


def _shown(value: Any) -> str:
    """A default as the page writes it."""
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return "`on`" if value else "`off`"
    if isinstance(value, tuple):
        return f"`{', '.join(value)}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def test_each_setting_has_its_row_as_it_is_declared() -> None:
    defaults = settings.Settings()
    known = [
        [
            f"`{name}`",
            f"`{one.variable}`" if one.variable else "",
            _shown(getattr(defaults, name)),
            f"{one.about}. {one.more}".strip(),
        ]
        for name, one in declared(settings.Settings).items()
    ]
    assert _rows("settings.md", "## All settings") == known


def test_the_shims_variables_are_those_that_it_reads() -> None:
    source = Path(stdio_shim.__file__).read_text("utf-8")
    read = re.findall(r'environ, "(BLENDER_\w+)", ([\d.]+),', source)
    told = [
        (row[0].strip("`"), float(row[1].strip("`"))) for row in _rows("settings.md", "## The stdio shim")
    ]
    assert told == [(name, float(default)) for name, default in read]


def test_each_client_has_its_row_with_its_files() -> None:
    known = [
        [
            client.label,
            *(f"`{client.files[platform]}`" for platform in ("linux", "darwin", "win32")),
            ", ".join(_FORMS[form] for form in client.forms if form in _FORMS) or "–",
        ]
        for client in table.CLIENTS
    ]
    assert _rows("clients.md", "# Clients") == known


def test_the_page_says_of_each_client_what_it_lacks() -> None:
    """Each cell of the table of real clients says a word that the page explains, and whoever has less than all is told
    about."""
    page = (_DOCS / "clients.md").read_text("utf-8")
    rows = _rows("clients.md", "## What works in which client")
    assert len({row[0] for row in rows}) >= 12
    explained, lacks = page.split("### What each client lacks")
    lacks = lacks.partition("\n## ")[0]
    told = re.findall(r"\*\*([^*]+)\*\*", lacks)
    assert set(told) <= {row[0] for row in rows}
    for client, version, _transport, *cells in rows:
        assert re.fullmatch(r"\d[\w.]*", version)
        assert all(cell == "yes" or f"*{cell}*" in explained for cell in cells), client
        assert client in told or set(cells) <= {"yes", "accept"}


def test_the_sizes_of_the_sandboxs_rooms_are_about_those_of_today() -> None:
    rooms = Path(sandbox.__file__).parent
    told = {
        row[0].strip("`/"): int(row[1].replace(",", ""))
        for row in _rows("sandbox.md", "## How large it is, and why")
    }
    assert set(told) == {path.name for path in rooms.iterdir() if (path / "__init__.py").exists()}
    for room, lines in told.items():
        sources = (path.read_text("utf-8") for path in (rooms / room).rglob("*.py"))
        assert sum(source.count("\n") for source in sources) == pytest.approx(lines, rel=0.1), room
