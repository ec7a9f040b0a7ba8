# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls a function of Blender's: checks its arguments before, and looks for what it freed afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from types import MethodType
from typing import Any, Final

from bpy.types import ID

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
from .finite import check_numbers, takes_floats
from .instead import INSTEAD
from .items import check_items, given_parts, own_items
from .parameters import parameters
from .settling import SETTLING

__all__ = ("checked", "needed_pointers", "needs_check", "takes_integers")

_TAKING_NONE = names("functions that take None")


_NO_MOMENT: Final = contextlib.nullcontext()
"""The context of a call that looks for what the script holds either before or after it, but not both."""


class _Bound(tuple[Any, Any]):
    """The host of the run and the owner of a function that a script calls."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self[1])


def checked(path: str) -> Reader:
    """Return the reader of a function. A script gets one that checks arguments, calls, and looks for what was freed."""
    if path in INSTEAD:
        return sealing(INSTEAD[path])
    struct, function = path.split(".")
    freeing_more = freeing.removes_blocks(struct, function) or CHECKED.get(path) in EVALUATING
    frees = freeing_more or path in ADDING_TO_MESHES or freeing.frees(struct, function)
    # one function for all runs, bound to a pair: a closure for each use is more for the collector to look through
    call = _freeing_call(path) if frees else _harmless_call(path)
    call.__name__ = call.__qualname__ = function
    exists = False

    def read(host: BlenderHost, owner: Any, _name: str) -> Any:
        nonlocal exists
        if not exists:
            getattr(owner, function)  # Blender's own AttributeError, where this version has no such function
            exists = True
        return MethodType(call, _Bound((host, owner)))

    return read


def _harmless_call(path: str) -> Callable[..., Any]:
    """Return the call of a function that frees nothing: it may only move layers."""
    prepared, perform = _preparation(path), _performance(path)

    def call(bound: _Bound, /, *args: Any, **kwargs: Any) -> Any:
        host, owner = bound
        args, kwargs, _given = prepared(host, owner, args, kwargs)
        return perform(host, owner, args, kwargs)

    return call


def _freeing_call(path: str) -> Callable[..., Any]:
    """Return the call of a function that may free something: afterwards the references are checked."""
    struct, function = path.split(".")
    prepared, perform = _preparation(path), _performance(path)
    may_free, followed = freeing.frees(struct, function), freeing.is_followed(struct, function)
    removes, roots = freeing.removes_blocks(struct, function), freeing.freed_alone(struct, function)
    grows, writes_back = freeing.grows(struct, function), path == "Object.update_from_editmode"
    evaluates, settle = CHECKED.get(path) in EVALUATING, SETTLING.get(path)
    keeps_owner, always = path not in freeing.FREEING_OWNERS, path not in freeing.FREEING_WITH_ARGUMENTS

    def call(bound: _Bound, /, *args: Any, **kwargs: Any) -> Any:
        host, owner = bound
        references = host.stale
        # before the check: the script holds nothing yet of what a first evaluation makes
        removing = removes or (evaluates and references.touched_evaluated)
        args, kwargs, given = prepared(host, owner, args, kwargs)
        with references.one_moment() if removing or evaluates or references.layers.used else _NO_MOMENT:
            block = owner.id_data
            frees = may_free and (always or bool(args or kwargs))
            moves = references.touched_collections if followed else frees and not is_blank(block)
            if evaluates:
                references.before_sharing()
            if removing:
                references.before_removal(evaluates=evaluates)
            result = None
            try:
                result = perform(host, owner, args, kwargs)
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
                    if settle is not None:
                        settle(given)
                    references.sweep(
                        (result, owner) if keeps_owner else (result,),
                        roots,
                        of=owner.data if writes_back else block,
                    )
                if may_free:
                    host.overrides.drop_removed()
        return result

    return call


def _preparation(path: str) -> Callable[..., tuple[tuple[Any, ...], dict[str, Any], Arguments]]:
    """Return a function that checks a call's arguments and returns them plain, and by name where a check needs it."""
    function, limit, integers = path.partition(".")[2], name_limit(path), takes_integers(path)
    check = _checks(path)
    as_plain = integers or check is not None
    names_of: dict[type, list[str]] = {}

    def prepared(
        host: BlenderHost, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], Arguments]:
        if as_plain:
            args, kwargs = all_as_plain(args, kwargs)
        if integers:
            args = tuple(map(held_items, args))
            kwargs = {name: held_items(value) for name, value in kwargs.items()} if kwargs else kwargs
        given = kwargs
        if check is not None and args:
            names = names_of.get(type(owner))
            if names is None:
                names = _parameter_names(owner, function) or _PYTHON_PARAMETERS.get(path, [])
                names_of[type(owner)] = names
            given = {**dict(zip(names, args, strict=False)), **kwargs}
        if host.stale.touched_evaluated:
            blocks.check_original(host, owner, function)
        if check is not None:
            check(host, owner, given)
        if limit is not None:
            args, kwargs = cut(limit, args, kwargs)
        return args, kwargs, given

    return prepared


def _performance(path: str) -> Callable[[BlenderHost, Any, tuple[Any, ...], dict[str, Any]], Any]:
    """Return a function that does the call. It gets Blender's function late: its holders are searched for the owner."""
    struct, function = path.split(".")

    def perform(_host: BlenderHost, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return getattr(owner, function)(*args, **kwargs)

    def keeping_layers(host: BlenderHost, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not host.stale.layers.used:
            return perform(host, owner, args, kwargs)
        with host.stale.layers.keep(owner) as new:
            result = perform(host, owner, args, kwargs)
            new.append(result)
        return result

    return keeping_layers if may_make(struct, function) else perform


@cache
def takes_integers(path: str) -> bool:
    """Return whether `Struct.function` has a parameter that is an array of integers or flags."""
    return any(is_integers(p) for p in parameters(path) if not p.is_output)


@cache
def needed_pointers(path: str) -> frozenset[str]:
    """Return the parameters of `Struct.function` that Blender follows without checking whether they are None."""
    if path in _TAKING_NONE:
        return frozenset()
    return frozenset(
        p.identifier
        for p in parameters(path)
        if p.type == "POINTER" and p.is_required and not p.is_output and not p.is_never_none
    )


def needs_check(path: str) -> bool:
    """Return whether RNA says of `Struct.function` that its arguments need a check."""
    return bool(
        needed_pointers(path)
        or takes_integers(path)
        or takes_floats(path)
        or own_items(path)
        or given_parts(path)
        or blocks.given_blocks(path)
    )


def _checks(path: str) -> Check | None:
    """Return the check of all that RNA and the lists say of the arguments, or None if they need none."""
    checks = [check for find in _FINDERS if (check := find(path)) is not None]
    if len(checks) < 2:
        return checks[0] if checks else None

    def each(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
        for check in checks:
            check(host, owner, arguments)

    return each


def _blocks_check(path: str) -> Check | None:
    """Return a check that refuses data-blocks of `blocks.given_blocks` that are not the file's own."""
    given = blocks.given_blocks(path)

    removes = path.endswith(".remove")

    def check(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
        for name in given & arguments.keys():
            block = arguments[name]
            blocks.check_given(block, f"{path}()", whole=name != "target_id")
            if not removes and isinstance(block, ID):
                blocks.note_link(host, owner, block)

    return check if given else None


def _pointers_check(path: str) -> Check | None:
    """Return a check that refuses None for `needed_pointers`."""
    needed = needed_pointers(path)

    def check(_host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
        for name in needed & arguments.keys():
            if arguments[name] is None:
                raise TypeError(f"{path}(): {name} may not be None")

    return check if needed else None


def _numbers_check(path: str) -> Check | None:
    """Return a check that refuses NaN for `takes_floats`."""

    def check(_host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
        check_numbers(path, arguments)

    return check if takes_floats(path) else None


def _items_check(path: str) -> Check | None:
    """Return a check that refuses what belongs to another collection or data-block."""

    def check(_host: BlenderHost, owner: Any, arguments: Arguments) -> None:
        check_items(path, owner, arguments)

    return check if own_items(path) or given_parts(path) else None


#: What finds the checks of a function, in the order in which these are made.
_FINDERS: Final[tuple[Callable[[str], Check | None], ...]] = (
    _blocks_check,
    _pointers_check,
    _numbers_check,
    _items_check,
    CHECKED.get,
)
#: Parameters of functions that Blender defines in Python.
_PYTHON_PARAMETERS = {"Mesh.from_pydata": ["vertices", "edges", "faces"]}


def _parameter_names(owner: Any, name: str) -> list[str]:
    rna = getattr(owner, "bl_rna", None)
    function = rna.functions.get(name) if rna is not None and hasattr(rna, "functions") else None
    if function is None:
        return []
    return [p.identifier for p in function.parameters if not p.is_output]
