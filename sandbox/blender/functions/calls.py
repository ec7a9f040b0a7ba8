# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls a function of Blender's: looks at its arguments before, and for what it freed afterwards."""

from __future__ import annotations

from functools import cache
from types import MethodType
from typing import Any

import bpy

from ...facts.members import names
from ...guard.facade import sealing
from ...guard.seam import BlenderHost, Reader
from ...lifetime import freeing
from ...lifetime.layers import may_make
from ...lifetime.references import is_blank
from .. import added, blocks
from ..plain_values import all_as_plain, held_items, is_integers
from ..text_sizes import cut, name_limit
from .checks import ADDING_TO_MESHES, CHECKED, EVALUATING, Arguments, Check
from .instead import INSTEAD

__all__ = ("checked", "needed_pointers", "takes_integers")

_TAKING_NONE = names("functions that take None")


class _Bound(tuple[Any, Any]):
    """The run and the owner that a function is called for."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self[1])


def checked(path: str) -> Reader:
    """The reader of a function: gives one that checks its arguments, calls, and looks for what it freed."""
    if path in INSTEAD:
        return sealing(INSTEAD[path])
    check = CHECKED.get(path)
    struct, function = path.split(".")
    may_free, followed = freeing.frees(struct, function), freeing.is_followed(struct, function)
    removes, roots = freeing.removes_blocks(struct, function), freeing.freed_alone(struct, function)
    grows, makes_layers = freeing.grows(struct, function), may_make(struct, function)
    evaluates, writes_back = check in EVALUATING, path == "Object.update_from_editmode"
    limit = name_limit(path)
    check = _with_blocks(path, _with_pointers(path, check))
    integers = takes_integers(path)
    if integers and check is None:
        check = _nothing_else
    parameters: dict[type, list[str]] = {}

    # one function for all runs, bound to a pair: a closure for each use is more for the collector to look through
    def call(bound: _Bound, /, *args: Any, **kwargs: Any) -> Any:
        host, owner = bound
        if check is not None:
            names = parameters.get(type(owner))
            if names is None:
                names = _parameter_names(owner, function) or _PYTHON_PARAMETERS.get(path, [])
                parameters[type(owner)] = names
            args, kwargs = all_as_plain(args, kwargs)
            if integers:
                args = tuple(map(held_items, args))
                kwargs = {name: held_items(value) for name, value in kwargs.items()}
            given = {**dict(zip(names, args, strict=False)), **kwargs} if args else kwargs
        references = host.stale
        if references.touched_evaluated:
            blocks.check_original(host, owner, function)
        # asked before the check: of what a first evaluation makes, the script holds nothing yet
        removing = removes or (evaluates and references.touched_evaluated)
        if check is not None:
            check(host, owner, given)
        if limit is not None:
            args, kwargs = cut(limit, args, kwargs)
        block = owner.id_data
        moves = references.touched_collections if followed else may_free and not is_blank(block)
        if evaluates:
            references.before_sharing()
        if removing:
            references.before_removal(evaluates=evaluates)
        result = None
        # looked up only now: what holds a function is looked through for what it belongs to
        try:
            if makes_layers and references.layered:
                with references.keeping_layers(owner) as new:
                    result = getattr(owner, function)(*args, **kwargs)
                    new.append(result)
            else:
                result = getattr(owner, function)(*args, **kwargs)
            if path in ADDING_TO_MESHES:
                added.fill(host, owner, int(given.get("count", 0)))
        finally:  # it may have freed something before it failed
            if evaluates:
                references.after_sharing()
            if removing:
                references.after_removal()
            if moves and grows:
                references.after_growth(block)
            elif moves:
                references.sweep((result, owner), roots, of=owner.data if writes_back else block)
            if may_free:
                host.overrides.drop_removed()
        return result

    call.__name__ = call.__qualname__ = function

    def read(host: BlenderHost, owner: Any, _name: str) -> Any:
        getattr(owner, function)  # Blender's own AttributeError, where this version has no such function
        return MethodType(call, _Bound((host, owner)))

    return read


def _nothing_else(_host: BlenderHost, _owner: Any, _arguments: Arguments) -> None:
    """There is nothing to look at but that arguments are plain."""


@cache
def takes_integers(path: str) -> bool:
    """Whether `Struct.function` has a parameter that is an array of integers or flags."""
    struct, function = path.split(".")
    rna = getattr(getattr(bpy.types, struct, None), "bl_rna", None)
    found = rna.functions.get(function) if rna is not None else None
    return found is not None and any(is_integers(p) for p in found.parameters if not p.is_output)


@cache
def needed_pointers(path: str) -> frozenset[str]:
    """Return the parameters of `Struct.function` that Blender follows without a look whether they are None."""
    struct, function = path.split(".")
    rna = getattr(getattr(bpy.types, struct, None), "bl_rna", None)
    found = rna.functions.get(function) if rna is not None else None
    if found is None or path in _TAKING_NONE:
        return frozenset()
    return frozenset(
        p.identifier
        for p in found.parameters
        if p.type == "POINTER" and p.is_required and not p.is_output and not p.is_never_none
    )


def _with_pointers(path: str, check: Check | None) -> Check | None:
    """Return a check that refuses None for `needed_pointers`, and then does what `check` does."""
    needed = needed_pointers(path)
    if not needed:
        return check

    def both(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
        for name in needed & arguments.keys():
            if arguments[name] is None:
                raise TypeError(f"{path}(): {name} may not be None")
        if check is not None:
            check(host, owner, arguments)

    return both


def _with_blocks(path: str, check: Check | None) -> Check | None:
    """Return a check that refuses what is no data-block of the file's own for `blocks.given_blocks`."""
    given = blocks.given_blocks(path)
    if not given:
        return check

    def both(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
        for name in given & arguments.keys():
            blocks.check_given(arguments[name], f"{path}()", whole=name != "target_id")
        if check is not None:
            check(host, owner, arguments)

    return both


#: Parameters of functions that Blender defines in Python.
_PYTHON_PARAMETERS = {"Mesh.from_pydata": ["vertices", "edges", "faces"]}


def _parameter_names(owner: Any, name: str) -> list[str]:
    rna = getattr(owner, "bl_rna", None)
    function = rna.functions.get(name) if rna is not None and hasattr(rna, "functions") else None
    if function is None:
        return []
    return [p.identifier for p in function.parameters if not p.is_output]
