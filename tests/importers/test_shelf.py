# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.importers.browse import Entry
from bl_ext.user_default.mcp_bridge.importers.polyhaven.asset import KINDS, Kind
from bl_ext.user_default.mcp_bridge.importers.shelf import MOST_RECENT, Shelf


def entry(number: int, service: str = "polyhaven") -> Entry:
    return Entry(service, f"asset_{number}", f"Asset {number}", "Ada", "CC0 1.0", "", "")


def test_the_last_imports_come_first_and_once(tmp_path: Path) -> None:
    for number in range(MOST_RECENT + 3):
        Shelf(tmp_path / "a" / "shelf.json").imported(entry(number))
    shelf = Shelf(tmp_path / "a" / "shelf.json")
    shelf.imported(entry(10))
    found = [one.id for one in shelf.recent()]
    assert (len(found), found[0], found[1]) == (MOST_RECENT, "asset_10", f"asset_{MOST_RECENT + 2}")
    assert found.count("asset_10") == 1
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["shelf.json"]


def test_a_favourite_is_marked_and_unmarked(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "shelf.json")
    shelf.toggle(entry(1))
    shelf.toggle(entry(1, "sketchfab"))
    shelf.imported(entry(2))
    assert [one.service for one in shelf.favourites()] == ["sketchfab", "polyhaven"]
    shelf.toggle(entry(1))
    assert shelf.favourites() == (entry(1, "sketchfab"),)
    assert shelf.recent() == (entry(2),)


@pytest.mark.parametrize("size", [3_000_000, None])
def test_the_size_is_kept(tmp_path: Path, size: int | None) -> None:
    Shelf(tmp_path / "shelf.json").imported(replace(entry(1), size=size))
    assert [one.size for one in Shelf(tmp_path / "shelf.json").recent()] == [size]


def test_the_extent_is_kept(tmp_path: Path) -> None:
    chair = replace(entry(1), extent=(0.5, 0.5, 1.0))
    Shelf(tmp_path / "shelf.json").imported(chair)
    assert Shelf(tmp_path / "shelf.json").recent() == (chair,)


@pytest.mark.parametrize("wrong", [{"size": "3 MB"}, {"extent": "1 m"}, {"extent": [1, "m"]}, {"extent": 1}])
def test_an_entry_with_what_is_no_number_is_left_out(tmp_path: Path, wrong: dict[str, Any]) -> None:
    (tmp_path / "shelf.json").write_text(json.dumps({"recent": [asdict(entry(1)) | wrong]}))
    assert Shelf(tmp_path / "shelf.json").recent() == ()


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_is_kept(tmp_path: Path, kind: Kind) -> None:
    Shelf(tmp_path / "shelf.json").imported(replace(entry(1), kind=kind))
    assert [one.kind for one in Shelf(tmp_path / "shelf.json").recent()] == [kind]


@pytest.mark.parametrize(
    "stored", [{}, {"kind": "brushes"}, {"kind": 3}, {"kind": ["models"]}, {"kind": None}]
)
def test_a_kind_that_is_missing_or_unknown_is_none(tmp_path: Path, stored: dict[str, Any]) -> None:
    item = {name: value for name, value in asdict(entry(1)).items() if name != "kind"}
    (tmp_path / "shelf.json").write_text(json.dumps({"recent": [item | stored]}))
    assert [one.kind for one in Shelf(tmp_path / "shelf.json").recent()] == [""]


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"recent": 3}', '{"recent": [3, {"id": "x"}]}', '{"recent": [{"service": "evil"}]}', "\0"],
)
def test_a_damaged_file_counts_as_empty_and_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "shelf.json").write_text(text)
    shelf = Shelf(tmp_path / "shelf.json")
    assert shelf.recent() == ()
    shelf.imported(entry(1))
    assert shelf.recent() == (entry(1),)


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExternalServiceError, match=r"shelf.json can't be written: File exists"):
        Shelf(tmp_path / "file" / "shelf.json").toggle(entry(1))
