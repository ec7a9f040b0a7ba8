# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of Blender's structs beforehand is what the guard says of them in this Blender."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.blender.access import members
from bl_ext.user_default.mcp_bridge.sandbox.language.analysis import structs

_READ = [(struct, member, given) for struct, read in structs.READ.items() for member, given in read.items()]
_WRITTEN = [(struct, member) for struct, written in structs.WRITTEN.items() for member in written]


def _struct(name: str) -> Any:
    return getattr(bpy.types, name)


def _all_of(kind: Any) -> Iterator[Any]:
    """A struct and all that derive from it: a value may be of any."""
    yield kind
    for each in kind.__subclasses__():
        yield from _all_of(each)


@pytest.mark.parametrize(("struct", "member", "_given"), _READ)
def test_guard_lets_what_is_known_be_read(struct: str, member: str, _given: str) -> None:
    assert all(members("blender").access(kind, member).plain_read for kind in _all_of(_struct(struct)))


@pytest.mark.parametrize(("struct", "member"), sorted(_WRITTEN))
def test_guard_lets_what_is_known_be_set(struct: str, member: str) -> None:
    for kind in _all_of(_struct(struct)):
        access = members("blender").access(kind, member)
        assert access.plain_write
        assert access.plain_read


@pytest.mark.parametrize(("struct", "member", "given"), [each for each in _READ if each[2]])
def test_members_give_what_is_known(struct: str, member: str, given: str) -> None:
    rna = _struct(struct).bl_rna
    if given.startswith(structs.RETURNS):
        (result,) = (each for each in rna.functions[member].parameters if each.is_output)
        assert structs.RETURNS + result.fixed_type.identifier == given
    elif struct == structs.CONTEXT and member not in rna.properties:
        assert given == "Object", "the screen's context gives objects by these names"
        assert isinstance(getattr(bpy.context, member), bpy.types.Object | None)
    else:
        prop = rna.properties[member]
        struct_given = prop.srna if prop.type == "COLLECTION" else prop.fixed_type
        assert struct_given.identifier == given
