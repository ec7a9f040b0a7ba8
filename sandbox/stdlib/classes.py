# SPDX-License-Identifier: GPL-3.0-or-later
"""The script's view of the functions that make or mark classes: `abc`, named tuples and `typing`."""

from __future__ import annotations

import abc
import types
from collections.abc import Callable
from typing import Any

from ..guard.classes import Marker
from ..guard.seam import Guard
from ..guard.values import deep_nesting

__all__ = ("abstract", "namedtuple", "typing_members")

Members = dict[str, object]


def abstract(guard: Guard) -> Callable[[Any], Any]:
    """Return the script's `abc.abstractmethod`, which takes only functions of the script."""

    def abstractmethod(function: Any) -> Any:
        if not isinstance(function, types.FunctionType) or function.__globals__ is not guard.namespace:
            raise TypeError("abstractmethod() decorates functions of the script: put it below @property")
        return abc.abstractmethod(function)

    return abstractmethod


def namedtuple(guard: Guard) -> Callable[..., type]:
    """Return the script's `collections.namedtuple`, whose classes belong to the script."""

    def namedtuple(typename: Any, field_names: Any, *, rename: Any = False, defaults: Any = None) -> type:
        fields = field_names.replace(",", " ").split() if type(field_names) is str else list(field_names)
        if type(typename) is not str or any(type(field) is not str for field in fields):
            raise TypeError("namedtuple() takes plain names")
        guard.operators.length(len(fields) * 10_000, "namedtuple")
        options: dict[str, Any] = {"rename": bool(rename), "defaults": defaults, "module": "<script>"}
        return guard.adopt(deep_nesting.namedtuple(typename, fields, **options))

    return namedtuple


def typing_members() -> Members:
    """Return the members of `typing`, which do nothing at run time."""
    markers = """Annotated Any Callable Collection Counter DefaultDict Deque Dict Final FrozenSet Generator Generic
        Hashable Iterable Iterator List Literal Mapping MutableMapping MutableSequence NamedTuple NoReturn Optional
        OrderedDict Protocol Self Sequence Set Sized SupportsFloat SupportsInt Text Tuple Type TypeAlias TypedDict
        Union ClassVar Never Required NotRequired Concatenate"""
    members: Members = {name: Marker(name) for name in markers.split()}
    members |= {
        name: lambda value, *_rest: value
        for name in ("final", "overload", "runtime_checkable", "no_type_check")
    }
    members |= {
        name: lambda name, *_rest, **_options: Marker("Any") for name in ("TypeVar", "ParamSpec", "NewType")
    }
    return members | {"TYPE_CHECKING": False, "cast": lambda _kind, value: value}
