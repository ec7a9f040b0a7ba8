# SPDX-License-Identifier: GPL-3.0-or-later
"""A walk over the RNA of the Blender that runs: whatever takes a path, starts a program or runs code is refused.

The lists are made from rules that a person reviewed; these tests ask the other way round, of all that this Blender
has, so that a new version cannot bring in by a harmless name what the rules would have refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import bpy
from bl_ext.user_default.mcp_bridge.sandbox.blender.functions.checks import CHECKED
from bl_ext.user_default.mcp_bridge.sandbox.blender.operators import ops
from bl_ext.user_default.mcp_bridge.sandbox.blender.properties.writers import writer
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy

BLENDER = policy("blender")
_PATHS = frozenset({"FILE_PATH", "DIR_PATH", "FILE_NAME", "PASSWORD"})
_NAMED = re.compile(
    r"filepath|filename|directory|(?:^|_)(?:file|files|path|url|library)(?:_|$)|asset_identifier"
)
_DATA_PATHS = re.compile(r"data_path|use_.*|show_.*|.*_type|.*_index|.*_mode|path_(?:start|end|duration)")
#: Words of names and descriptions of operators that start programs, open pages, or read, write and run files.
_REACHES_OUT = re.compile(
    r"\b(?:url|web ?browser|external (?:program|application|editor|image editor|player)|python|scripts?|"
    r"command[ -]line|executable|open (?:a|an|the)? ?(?:new )?file|load (?:a|an|the)? ?file|save .*file|write .*file|"
    r"to disk|from disk|clipboard|online)\b",
    re.IGNORECASE,
)
#: Allowed operators that only say one of these words.
_ONLY_SAYS = frozenset(
    {
        "image.pack",  # makes a part of the .blend of what is open already
        "anim.clear_useless_actions",  # what the user saves later
    }
)
_CODE = re.compile(r"SCRIPT|PYTHON|EXTERNAL|COMMAND|EXECUT|SHELL|PROGRAM|BROWSER", re.IGNORECASE)
#: Writable enums with such an item, and why it does nothing of the kind.
_HARMLESS_ENUMS = frozenset(
    {
        "Driver.type",  # SCRIPTED: its expression is checked where it is set
        "BakeSettings.save_mode",  # EXTERNAL: where to is not for scripts to say, nor to bake
        "ShaderNodeTexIES.mode",  # EXTERNAL: a path that scripts cannot set
        "NodeTree.color_tag",  # SCRIPT: a colour
    }
)


def _operators() -> Iterator[tuple[str, Any]]:
    for module in dir(bpy.ops):
        for name in dir(getattr(bpy.ops, module)):
            yield f"{module}.{name}", getattr(getattr(bpy.ops, module), name).get_rna_type()


def _structs() -> Iterator[Any]:
    for name in dir(bpy.types):
        rna = getattr(getattr(bpy.types, name), "bl_rna", None)
        if rna is not None and rna.identifier == name:
            yield rna


def _is_path(prop: Any) -> bool:
    named = _NAMED.search(prop.identifier) and not _DATA_PATHS.fullmatch(prop.identifier)
    return prop.type == "STRING" and (prop.subtype in _PATHS or bool(named))


def test_no_allowed_operator_takes_a_path() -> None:
    taken = {
        f"{idname}({prop.identifier})"
        for idname, rna in _operators()
        for prop in rna.properties
        if idname in BLENDER.operators and _is_path(prop)
        if prop.identifier not in ops.FILES | ops.ASSETS
    }
    assert not taken


def test_no_allowed_operator_reaches_out() -> None:
    found = {
        f"{idname}: {rna.description}"
        for idname, rna in _operators()
        if idname in BLENDER.operators - _ONLY_SAYS and _REACHES_OUT.search(rna.description)
    }
    assert not found


def test_the_walk_finds_what_reaches_out() -> None:
    """The words find operators that are known to, so that a walk over nothing cannot pass."""
    found = {idname for idname, rna in _operators() if _REACHES_OUT.search(rna.description)}
    assert {"wm.url_open", "image.external_edit", "script.reload"} <= found
    assert sum(any(map(_is_path, rna.properties)) for _, rna in _operators()) > 60


def test_no_path_may_be_written_unchecked() -> None:
    unchecked = {
        f"{rna.identifier}.{prop.identifier}"
        for rna in _structs()
        for prop in rna.properties
        if prop.identifier in BLENDER.writable(rna.identifier) and not prop.is_readonly and _is_path(prop)
        if writer(f"{rna.identifier}.{prop.identifier}", rna.identifier, prop.identifier) is None
    }
    assert unchecked <= {
        "TextureNodeOutput.filepath",
        "CacheObjectPath.path",
    }  # names inside of a file, no files


def test_no_function_takes_a_path_unchecked() -> None:
    unchecked = {
        f"{rna.identifier}.{function.identifier}({parameter.identifier})"
        for rna in _structs()
        for function in rna.functions
        if function.identifier in BLENDER.callable(rna.identifier)
        for parameter in function.parameters
        if not parameter.is_output and (_is_path(parameter) or parameter.subtype == "BYTE_STRING")
        if f"{rna.identifier}.{function.identifier}" not in CHECKED
    }
    assert not unchecked


def test_no_enum_that_may_be_written_starts_programs() -> None:
    found = {
        f"{rna.identifier}.{prop.identifier}"
        for rna in _structs()
        for prop in rna.properties
        if prop.type == "ENUM"
        and not prop.is_readonly
        and prop.identifier in BLENDER.writable(rna.identifier)
        if any(_CODE.search(item.identifier) for item in prop.enum_items_static)
    }
    assert found <= _HARMLESS_ENUMS
