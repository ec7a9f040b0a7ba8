# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds which names of the curated modules a script may use, from what the sandbox would hand out."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Final

from ..facts.blender_modules import AS_THEY_ARE
from ..facts.policy import Level, policy
from ..facts.reasons import why_member, why_module
from ..guard.meter import Meter
from ..language.compile import compile_script
from ..stdlib.arrays import array_members
from .namespace import build_guard

__all__ = ("why_refused",)


_BLENDERS: Final = frozenset(name.partition(".")[0] for name in AS_THEY_ARE)
"""Blender's modules, which `facts.blender_modules.withheld` covers instead."""


@cache
def _members(level: Level) -> Mapping[str, frozenset[str]]:
    """Return the names that scripts may use by dotted module, without those of Blender's modules."""
    rules = policy(level)
    wanted = sorted(
        name for name in rules.imports if name != "__future__" and name.partition(".")[0] not in _BLENDERS
    )
    script = compile_script("\n".join(f"import {name}" for name in wanted))
    guard = build_guard(script, rules, None, Meter())
    views: dict[str, object] = {name: guard.imports[name] for name in guard.imports.names()}
    if "numpy" in rules.imports:
        views |= array_members(guard)
    return {name: frozenset(dir(view)) for name, view in views.items()}


def why_refused(path: str, level: Level) -> str | None:
    """Return why a full name such as `os.remove` is refused; None if it is allowed or the sandbox does not know it.

    A name that the module itself lacks is not refused: it raises AttributeError.
    """
    module, _, name = path.rpartition(".")
    if name.startswith("_") or not module or module.partition(".")[0] in _BLENDERS:
        return None
    known = _members(level)
    if module not in known:
        refused = module.partition(".")[0] not in known and why_module(module) is not None
        return why_member(module, name) if refused else None
    if name in known[module] or f"{module}.{name}" in known:
        return None
    return why_member(module, name) if hasattr(importlib.import_module(module), name) else None
