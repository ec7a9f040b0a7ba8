# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards what a depsgraph has: evaluated copies, and instances that exist for one turn of a loop only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..growth.geometry import check_instances
from ..guard.facade import Facade, hide
from ..guard.seam import BlenderHost, Reader

__all__ = ("READERS", "Instances")


class Instances(Facade):
    """`Depsgraph.object_instances` for scripts: iterates over them, and cuts off at the end the objects that it lent.

    `DepsgraphObjectInstance.object` of an instance is an object in the iterator's own memory, which Blender frees with
    the iterator and invalidates no reference to it. The iterator itself goes through memory of the depsgraph.
    """

    __slots__ = ("source",)

    def __init__(self, host: BlenderHost, collection: Any) -> None:
        _set_source(self, (host, collection))

    def __len__(self) -> int:
        return len(_source(self)[1])

    def __iter__(self) -> Iterator[Any]:
        host, collection = _source(self)
        stale = host.stale
        began = stale.evaluations
        lent: set[int] = set()
        try:
            for instance in collection:
                stale.lending[id(instance)] = lent
                try:
                    yield instance
                finally:
                    del stale.lending[id(instance)]
                if stale.evaluations != began:
                    raise RuntimeError(
                        "the scene was evaluated in a loop over its object_instances: "
                        "read what you need from them in the loop, and change the scene after it"
                    )
        finally:
            if lent:
                stale.let_go(lent)


_source: Callable[[Instances], tuple[BlenderHost, Any]]
_source, _set_source = hide(Instances, "source")


def _read_instances(host: BlenderHost, value: Any, name: str) -> Any:
    """Return the instances of a depsgraph, but check their number: Blender lists instances of instances one by one."""
    host.geometry.check_touched()
    check_instances(host.meter)
    return Instances(host, getattr(value, name))


def _read_object(host: BlenderHost, value: Any, name: str) -> Any:
    """Return the object of an instance, which may exist for this turn of the loop only."""
    found = getattr(value, name)
    if value.is_instance:
        lent = host.stale.lending.get(id(value))
        if lent is None:
            host.refuse(
                "the object of an instance exists within a loop only: for i in dg.object_instances: …"
            )
        lent.add(found.as_pointer())
    return found


def _read_depsgraph(host: BlenderHost, value: Any, name: str) -> Any:
    """Return a depsgraph: from now on the script may hold parts of evaluated copies."""
    host.stale.evaluate()
    return getattr(value, name)


READERS: dict[str, Reader] = {
    "Depsgraph.object_instances": _read_instances,
    "DepsgraphObjectInstance.object": _read_object,
    "ViewLayer.depsgraph": _read_depsgraph,
}
"""Readers of properties of depsgraphs and instances, by `Struct.property`."""
