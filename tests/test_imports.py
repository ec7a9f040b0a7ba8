# SPDX-License-Identifier: GPL-3.0-or-later
"""Which room may import from which: read from all imports of the extension, those for annotations too."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import pytest

from support.imports import imported, modules

_SETTINGS = Path(__file__).resolve().parent.parent / "pyproject.toml"

FLOORS = (
    {"base"},
    {"scene"},
    {"sandbox"},
    {"approvals"},
    {"importers", "files"},
    {"rendering"},
    {"server"},
    {"operators"},
    {"panels"},
)
"""The rooms at the top level: each may import from the floors before its own."""

_VOCABULARY = {"sandbox.language.names", "sandbox.language.hooks", "sandbox.language.builtin_methods"}
"""What the language says by name, and the guards answer to."""
_SEAM = {f"sandbox.guard.{name}" for name in ("seam", "meter", "measured", "audit", "native")}
"""What the guards are to others: protocols, the meter that stops a run, what a run was estimated to make, what code
may do that the audit wall forbids, and what a script reads and writes without a guard."""

ARROWS: dict[str, set[str]] = {
    "sandbox.language": set(),
    "sandbox.confinement": set(),
    "sandbox.facts": set(),
    "sandbox.guard": {"sandbox.facts", *_VOCABULARY},
    "sandbox.stdlib": {"sandbox.guard", "sandbox.facts", *_VOCABULARY},
    "sandbox.reference": {"sandbox.facts"},
    "sandbox.lifetime": {"sandbox.facts", "sandbox.reference.rna", *_SEAM},
    "sandbox.growth": {"sandbox.facts", "sandbox.reference.rna", *_SEAM},
    "sandbox.blender": {"sandbox.lifetime", "sandbox.growth", "sandbox.guard", "sandbox.facts"},
    "sandbox.run": {
        *("sandbox.language", "sandbox.guard", "sandbox.stdlib", "sandbox.blender", "sandbox.lifetime"),
        *("sandbox.growth", "sandbox.reference", "sandbox.facts"),
    },
    "sandbox.execute": {"sandbox.run"},
    "sandbox.early": {
        *("sandbox.run", "sandbox.language", "sandbox.guard", "sandbox.blender", "sandbox.lifetime"),
        *("sandbox.growth", "sandbox.facts"),
    },
    "sandbox.rehearsal": {"sandbox.run", "sandbox.confinement", "sandbox.language.analysis.reached", *_SEAM},
}
"""The rooms of the sandbox: each may import from these rooms and modules of it, and from the floors below."""

EXCEPTIONS: dict[tuple[str, str], str] = {
    ("operators.clients", "panels.connecting"): "Blender has a dialog's operator draw it",
    ("operators.requests", "panels.review"): "Blender has a dialog's operator draw it",
}
"""Imports that break a rule, and why they still do. May only become fewer."""


def test_no_import_goes_where_the_rules_do_not_allow_it() -> None:
    wrong = sorted(f"{a} imports {b}" for a, b in _arrows() if not _is_allowed(a, b))
    assert wrong == sorted(f"{a} imports {b}" for a, b in EXCEPTIONS if not _is_allowed(a, b)), (
        "a room may import only from those that FLOORS and ARROWS name"
    )


def test_no_imports_go_in_a_circle() -> None:
    assert not _circle(_arrows() - EXCEPTIONS.keys())


@pytest.mark.parametrize("arrow", EXCEPTIONS, ids=" imports ".join)
def test_each_exception_is_still_needed(arrow: tuple[str, str]) -> None:
    assert arrow in _arrows(), "it is imported no more: take it out of EXCEPTIONS"
    if _is_allowed(*arrow):
        kept = _arrows() - EXCEPTIONS.keys() | {arrow}
        assert _circle(kept), "it breaks no rule any more: take it out of EXCEPTIONS"


def test_each_module_has_a_room() -> None:
    known = set().union(*FLOORS) | ARROWS.keys()
    assert {_room(module) for module in modules() if module} - known - {"sandbox"} == set()


def test_each_module_that_pyproject_names_is_there() -> None:
    overrides = tomllib.loads(_SETTINGS.read_text("utf-8"))["tool"]["mypy"]["overrides"]
    named = {
        name.removeprefix("mcp_bridge.")
        for one in overrides
        for name in one["module"]
        if "mcp_bridge." in name
    }
    assert len(named) > 20
    assert {name for name in named if name.removesuffix(".*") not in modules()} == set(), "it has moved"


# --- reading the imports ----------------------------------------------------------------------------------------


@cache
def _arrows() -> frozenset[tuple[str, str]]:
    """(importer, imported), but for what the extension itself imports to register it."""
    return frozenset(
        (module, other) for module in modules() for other in imported(module) if module and other != module
    )


# --- the rules --------------------------------------------------------------------------------------------------


def _room(module: str) -> str:
    """'scene', or within the sandbox 'sandbox.guard'."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "sandbox" else parts[0]


def _floor(room: str) -> int:
    return next((at for at, rooms in enumerate(FLOORS) if room.split(".")[0] in rooms), -1)


def _is_allowed(importer: str, imported: str) -> bool:
    room, other = _room(importer), _room(imported)
    if room == other:
        return True
    if room.startswith("sandbox.") and other.startswith("sandbox."):
        return bool(ARROWS.get(room, set()) & {other, imported})
    return _floor(room) > _floor(other)


def _circle(arrows: frozenset[tuple[str, str]] | set[tuple[str, str]]) -> list[str]:
    """The modules that are in circles or lie between some; none where every path ends."""
    left = set(arrows)
    while True:
        importers, imported = {a for a, _ in left}, {b for _, b in left}
        inner = {(a, b) for a, b in left if b in importers and a in imported}
        if inner == left:
            return sorted(importers & imported)
        left = inner
