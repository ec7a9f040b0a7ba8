# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads `blender_modules.json`: which members of Blender's modules a script gets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

__all__ = ("AS_THEY_ARE", "withheld")

_FACTS: Final[Mapping[str, Mapping[str, str]]] = {
    module: facts
    for module, facts in json.loads(Path(__file__).with_suffix(".json").read_text("utf-8")).items()
    if module
}
AS_THEY_ARE: Final[Mapping[str, tuple[str, ...]]] = {
    module: tuple(facts["as they are"].split()) for module, facts in _FACTS.items()
}
"""Members that scripts get unchanged, by dotted module: functions and classes that only compute, or only work on their
arguments.
"""


def withheld() -> frozenset[str]:
    """Return the dotted names that these modules have in this Blender and scripts do not get."""
    return frozenset(
        path
        for module, facts in _FACTS.items()
        for name in dir(import_module(module))
        if not name.startswith("_")
        and (path := f"{module}.{name}") not in _FACTS
        and name not in " ".join(facts.values()).split()
    )
