# SPDX-License-Identifier: GPL-3.0-or-later
"""The items of all enums that a script can read: none lies in memory that Blender has freed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_READ = """
import hashlib
shown = []
for owner in OWNERS:
    rna = getattr(bpy.types, owner).bl_rna if '.' not in owner else None
    if rna is None:
        module, _, name = owner.partition('.')
        rna = getattr(getattr(bpy.ops, module), name).get_rna_type()
    for prop in rna.properties:
        if prop.type == 'ENUM':
            try:
                items = [(each.identifier, each.name, each.description, each.value) for each in prop.enum_items]
                items = hashlib.sha1(repr(items).encode()).hexdigest()
            except RuntimeError as error:
                items = str(error)
            shown.append(f'{owner}/{prop.identifier}/{items}')
print(chr(10).join(shown))
"""


def _owners() -> Iterator[tuple[str, Any]]:
    """Every struct and operator that a script may ask for its properties, with its description."""
    for name in dir(bpy.types):
        if "_OT_" not in name and hasattr(kind := getattr(bpy.types, name), "bl_rna"):
            yield name, kind.bl_rna
    for idname in sorted(policy("blender").operators):
        module, _, name = idname.partition(".")
        if name in dir(getattr(bpy.ops, module)):
            yield idname, getattr(getattr(bpy.ops, module), name).get_rna_type()


def _read(names: list[str]) -> dict[tuple[str, str], str]:
    """Run a script that reads all items; return for each enum the digest of them, or the error."""
    fork.overwrite_freed()
    printed = execute.execute_blender_code({"code": f"import bpy\nOWNERS = {names!r}\n{_READ}"})["stdout"]
    rows = (line.split("/", 2) for line in printed.splitlines())
    return {(owner, prop): items for owner, prop, items in rows}


def test_no_item_that_a_script_reads_lies_in_freed_memory() -> None:
    owners = dict(_owners())
    shown = fork.run(_read, list(owners))
    refused = {name for name, items in shown.items() if "Blender frees these items" in items}
    assert ("ColorManagedInputColorspaceSettings", "name") in refused
    assert len(shown) - len(refused) > 5_000
    for (owner, prop), items in shown.items():
        if (owner, prop) in refused:
            assert items.startswith(
                f"{prop}.enum_items: Blender frees these items while a script still holds"
            )
        else:
            read = owners[owner].properties[prop].enum_items
            blenders = [(each.identifier, each.name, each.description, each.value) for each in read]
            assert items == hashlib.sha1(repr(blenders).encode()).hexdigest(), (owner, prop)


@pytest.mark.parametrize(
    "read",
    [
        "[each.identifier for each in prop.enum_items]",
        "prop.enum_items[0].identifier",
        "prop.enum_items.get('sRGB').name",
        "prop.enum_items.keys()",
        "getattr(prop, 'enum_items').values()",
        "operator.attrgetter('enum_items')(prop)",
        "prop.path_resolve('enum_items')",
        "rna.path_resolve('properties[\"name\"].enum_items[0].identifier')",
    ],
)
def test_no_way_leads_to_items_that_blender_frees(read: str) -> None:
    with pytest.raises(
        HandlerError, match="set the property to a name that it does not have, and read the names"
    ):
        result(f"""
import operator
rna = bpy.types.ColorManagedInputColorspaceSettings.bl_rna
prop = rna.properties['name']
result = {read}
""")


def test_the_error_of_a_name_that_is_not_there_names_all() -> None:
    names = result("""
try:
    bpy.data.images.new('a', 4, 4).colorspace_settings.name = 'there is none'
except TypeError as error:
    result = str(error)
""")
    assert "sRGB" in names
    assert "Non-Color" in names
