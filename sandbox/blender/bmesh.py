# SPDX-License-Identifier: GPL-3.0-or-later
"""BMesh for scripts: all of it works on memory, so only what multiplies geometry, or frees or moves it, is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import bmesh

from ..facts.members import names, numbers
from ..growth.formulas import Formula, formulas
from ..guard.facade import seal, sealing
from ..guard.seam import BlenderHost, Reader
from ..lifetime.bmesh import layers, removals
from ..lifetime.bmesh.removals import SEQUENCES
from ..lifetime.references import in_generator, is_blank
from .functions import finite
from .plain_values import as_plain

__all__ = ("READERS", "edit_mesh", "member", "new_mesh", "numbers_in", "operator", "plain", "write")

#: Functions that write a mesh, and so move what references point to, or free one.
_WRAPPED = frozenset({"clear", "free", "sort", "to_mesh"})
#: Functions that move the layers of a mesh.
_MOVING: dict[Any, frozenset[str]] = {
    bmesh.types.BMesh: frozenset({"from_mesh", "from_object"}),
    bmesh.types.BMLayerCollection: frozenset({"new", "remove", "verify"}),
}
#: Members that are read through a function of their own.
READERS: dict[tuple[type, str], Reader] = {
    (kind, "remove"): sealing(removals.removal)
    for kind in (bmesh.types.BMVertSeq, bmesh.types.BMEdgeSeq, bmesh.types.BMFaceSeq)
}
#: Layers whose values are references, by the type that has them.
_REFERENCE_LAYERS: dict[Any, frozenset[str]] = dict.fromkeys(
    (getattr(bmesh.types, f"BMLayerAccess{kind}") for kind in ("Vert", "Edge", "Face", "Loop")),
    frozenset(layers.KINDS),
)
_CHECKED = _MOVING | _REFERENCE_LAYERS


def plain(kind: type, name: str) -> bool:
    """Return whether a script may read and write a member of a BMesh type natively: all members except dunders."""
    if name.startswith("_") or name in _WRAPPED or name in _CHECKED.get(kind, ()) or (kind, name) in READERS:
        return False
    return hasattr(kind, name)


def member(host: BlenderHost, value: Any, name: str) -> Any:
    """Read `value.name` of a BMesh value, checked."""
    if name.startswith("_"):
        host.refuse(f"{type(value).__name__}.{name} may not be used by a script", code="member")
    found = getattr(value, name)
    if name in _REFERENCE_LAYERS.get(type(value), ()):
        host.stale.touched_layers = True
        if name in layers.LINKED:
            host.stale.watch()
        return found
    if name in _MOVING.get(type(value), ()):
        return seal(_moving(host, found))
    if name == "free":
        return seal(lambda: host.stale.made.free(value))
    if name == "clear" and isinstance(value, bmesh.types.BMesh):
        return seal(lambda: _clear(host, value))
    if name == "sort":
        return seal(_sort(value))
    return seal(_then_sweep(host, found)) if name in _WRAPPED else found


def write(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Set `value.name = new` of a BMesh value, checked."""
    if name.startswith("_"):
        host.refuse(f"{type(value).__name__}.{name} may not be changed by a script", code="member")
    setattr(value, name, new)


def _clear(host: BlenderHost, mesh: Any) -> None:
    if in_generator():
        host.refuse("BMesh.clear() in a generator may empty what Blender is about to write: call it outside")
    _moving(host, mesh.clear, always=True)()


def _moving(host: BlenderHost, function: Callable[..., Any], *, always: bool = False) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if always or host.stale.touched_layers:
            host.stale.before_move()
        host.stale.drawn.before()
        try:
            return function(*args, **kwargs)
        finally:
            host.stale.after_move()
            host.stale.drawn.after()

    return call


def new_mesh(host: BlenderHost) -> Callable[..., Any]:
    """Return the script's `bmesh.new`, which keeps each new BMesh."""

    def new(*, use_operators: bool = True) -> Any:
        mesh = bmesh.new(use_operators=use_operators)
        host.stale.made.keep(mesh)
        return mesh

    return new


def edit_mesh(host: BlenderHost) -> Callable[..., Any]:
    """Return the script's `bmesh.from_edit_mesh`, which notes the BMesh, since operators change and free it."""

    def from_edit_mesh(mesh: Any) -> Any:
        edited = bmesh.from_edit_mesh(mesh)
        host.stale.edit(edited)
        return edited

    return from_edit_mesh


def _sort(elements: Any) -> Callable[..., None]:
    """Return the script's `verts.sort`: a key that changes the mesh while Blender counts its elements crashes it."""

    def sort(*, key: Any = None, reverse: Any = False) -> None:
        if key is None:
            elements.sort(reverse=reverse)
            return
        keys = [float(key(each)) for each in list(elements)]
        if len(keys) != len(elements):
            raise RuntimeError("sort(): the key changed the mesh")
        following = iter(keys)
        elements.sort(key=lambda _each: next(following), reverse=reverse)

    return sort


def _then_sweep(host: BlenderHost, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        blank = all(map(is_blank, given))
        try:
            return function(*args, **kwargs)
        finally:
            if not blank:
                host.stale.sweep(of=given[0] if len(given) == 1 else None)

    return call


def operator(host: BlenderHost, name: str) -> Callable[..., Any]:
    """Return `bmesh.ops.name`, checked; raise AttributeError as bmesh.ops would."""
    if name.startswith("_"):
        raise AttributeError(f"BMeshOpsModule: {name!r} not found")
    function = getattr(bmesh.ops, name)
    if name in _CRASHING:
        host.refuse(
            f"bmesh.ops.{name}() crashes Blender: use bm.to_mesh(mesh), bm.from_mesh(mesh), or loop[layer] = colour"
        )
    formula = _FORMULAS.get(name)

    def call(bm: Any, **arguments: Any) -> Any:
        host.meter.tick()
        arguments = {
            key: value if isinstance(value, (list, tuple)) else as_plain(value)
            for key, value in arguments.items()
        }
        finite.check_arguments(
            f"bmesh.ops.{name}", {key: value for key, value in arguments.items() if _may_be_numbers(value)}
        )
        _check_counts(name, arguments)
        if formula is not None:
            host.geometry.amount(_size(formula, bm, arguments), f"bmesh.ops.{name}", numbers_in(arguments))
        if host.stale.touched_layers or (removes and removals.may_be_last(bm, arguments.values())):
            return moving(bm, **arguments)
        host.stale.drawn.before()
        try:
            return function(bm, **arguments)
        finally:
            host.stale.drawn.after()

    removes = name not in removals.STAYING
    moving = _moving(host, function, always=True)
    call.__name__ = call.__qualname__ = name
    return call


def _check_counts(name: str, arguments: Mapping[str, Any]) -> None:
    """Check the counts among an operator's arguments, which Blender itself uses without a look.

    Raises:
        TypeError: one that Blender needs is missing.
        ValueError: one is too small or too large.
    """
    for argument, least, most, needed in _counts(name):
        value = arguments.get(argument)
        if value is None and needed:
            raise TypeError(f"bmesh.ops.{name}() needs the argument {argument}")
        if isinstance(value, int) and not least <= value <= most:
            raise ValueError(
                f"bmesh.ops.{name}(): {argument} is {value:,}, but has to be from {least:,} to {most:,}"
            )


@cache
def _counts(name: str) -> list[tuple[str, int, int, bool]]:
    """Return what to check of an operator's arguments: each with its bounds, and whether Blender needs it.

    Blender's text about an operator shows all arguments with their defaults, those that count something as integers.
    """
    text = getattr(bmesh.ops, name).__doc__ or ""
    counts = set(re.findall(r"\b(\w+)=-?\d+(?=[,)])", text)) - _COUNTING_NOTHING
    needed = {path.partition(".")[2] for path in _NEEDED if path.partition(".")[0] == name}
    return [
        (
            each,
            int(_LEAST.get(f"{name}.{each}", 0)),
            int(_LARGEST.get(f"{name}.{each}", _MOST)),
            each in needed,
        )
        for each in sorted(counts | needed)
    ]


_CRASHING = names("bmesh operators that crash")
_NEEDED = names("arguments that bmesh operators need")
_COUNTING_NOTHING = names("integers of bmesh operators that count nothing")
_LEAST = numbers("least counts of bmesh operators")
_LARGEST = numbers("largest counts of bmesh operators")
_MOST = 100_000


def _may_be_numbers(value: Any) -> bool:
    """Return whether an argument may be a number, vector or matrix, and not a list of elements."""
    kind = type(value)
    return not (kind in SEQUENCES or (isinstance(value, (list, tuple)) and len(value) > _LONGEST))


_LONGEST = 4
"""How many numbers a vector has, or rows a matrix: Blender accepts no longer ones."""


def numbers_in(arguments: Mapping[str, Any]) -> str:
    """Return the numbers among the arguments, for a message."""
    shown = (f"{name}={value:g}" for name, value in arguments.items() if isinstance(value, (int, float)))
    return f"({', '.join(shown)})"


_FORMULAS = formulas("bmesh")


def _size(formula: Formula, bm: Any, arguments: Mapping[str, Any]) -> float:
    """Return about how many vertices an operator makes."""

    def read(name: str) -> float | None:
        if name == "vertices":
            return float(len(bm.verts))
        if name == "chosen":
            chosen = arguments.get("geom")
            return float(len(chosen) if isinstance(chosen, (list, tuple)) else len(bm.verts))
        value = arguments.get(name)
        return float(value) if isinstance(value, (int, float)) else None

    return formula.value(read)
