# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of types is known for all runs, and no class of a script is held on to."""

from __future__ import annotations

import gc
import weakref

from bl_ext.user_default.mcp_bridge.base import per_type
from bl_ext.user_default.mcp_bridge.sandbox.guard.modules import View


def test_types_of_the_program_are_asked_about_once() -> None:
    asked: list[type] = []
    known = per_type.PerType(lambda kind: asked.append(kind) is None)
    for _ in range(2):
        assert known[int]
        assert known[View]
        per_type.forget()
    assert asked == [int, View]


def test_classes_of_a_script_are_let_go() -> None:
    known = per_type.PerType(lambda _kind: True)
    # whatever a class says of where it comes from: it is not there
    for name, module in (("Block", "<script>"), ("View", View.__module__), ("int", "builtins")):
        made = type(name, (), {"__module__": module, "__slots__": ("__weakref__",)})
        assert known[made]
        per_type.forget()
        assert not known
        gone = weakref.ref(made)
        del made
        gc.collect()
        assert gone() is None
