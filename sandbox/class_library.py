# SPDX-License-Identifier: GPL-3.0-or-later
"""Guarded members of the curated modules that make or mark classes: abc, dataclasses, named tuples, typing."""

from __future__ import annotations

import abc
import dataclasses
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import sturdy
from .classes import Marker

if TYPE_CHECKING:
    from .guards import Guard

__all__ = ("abstract", "dataclass_members", "namedtuple", "typing_members")

Members = dict[str, object]


def abstract(guard: Guard) -> Callable[[Any], Any]:
    """`abc.abstractmethod`, for functions of the script."""

    def abstractmethod(function: Any) -> Any:
        if not isinstance(function, types.FunctionType) or function.__globals__ is not guard.namespace:
            raise TypeError("abstractmethod() decorates functions of the script: put it below @property")
        return abc.abstractmethod(function)

    return abstractmethod


def namedtuple(guard: Guard) -> Callable[..., type]:
    """`collections.namedtuple`, whose classes become the script's own."""

    def namedtuple(typename: Any, field_names: Any, *, rename: Any = False, defaults: Any = None) -> type:
        fields = field_names.replace(",", " ").split() if type(field_names) is str else list(field_names)
        if type(typename) is not str or any(type(field) is not str for field in fields):
            raise TypeError("namedtuple() takes plain names")
        guard.operators.length(len(fields) * 10_000, "namedtuple")
        options: dict[str, Any] = {"rename": bool(rename), "defaults": defaults, "module": "<script>"}
        return guard.adopt(sturdy.namedtuple(typename, fields, **options))

    return namedtuple


def dataclass_members(guard: Guard) -> Members:
    """`dataclasses`, for classes of the script."""

    def dataclass(kind: Any = None, **options: Any) -> Any:
        def decorate(target: Any) -> Any:
            if not isinstance(target, type) or target not in guard.own:
                raise TypeError("dataclass() decorates classes of the script")
            if not target.__doc__:
                target.__doc__ = target.__name__  # Python would show all defaults and annotations there
            return guard.adopt(dataclasses.dataclass(target, **options))

        return decorate if kind is None else decorate(kind)

    def own_fields(value: Any) -> list[str]:
        if type(value) not in guard.own or not dataclasses.is_dataclass(value):
            raise TypeError("asdict() and astuple() take an instance of a dataclass")
        return [field.name for field in dataclasses.fields(value)]

    def asdict(value: Any, *, dict_factory: Any = dict) -> Any:
        return dict_factory([(name, plain(getattr(value, name), asdict)) for name in own_fields(value)])

    def astuple(value: Any, *, tuple_factory: Any = tuple) -> Any:
        return tuple_factory([plain(getattr(value, name), astuple) for name in own_fields(value)])

    def plain(value: Any, convert: Callable[[Any], Any]) -> Any:
        guard.meter.tick()
        if type(value) in guard.own and dataclasses.is_dataclass(value):
            return convert(value)
        if type(value) in (list, tuple, set):
            return type(value)([plain(part, convert) for part in value])
        if type(value) is dict:
            return {key: plain(part, convert) for key, part in value.items()}
        return value

    def fields(value: Any) -> tuple[Any, ...]:
        if (value if isinstance(value, type) else type(value)) not in guard.own:
            raise TypeError("fields() takes a dataclass of the script")
        return dataclasses.fields(value)

    return {"dataclass": dataclass, "asdict": asdict, "astuple": astuple, "fields": fields}


def typing_members() -> Members:
    """`typing`: names that mean nothing at run time."""
    markers = """Annotated Any Callable Collection Counter DefaultDict Deque Dict Final FrozenSet Generator Generic
        Hashable Iterable Iterator List Literal Mapping MutableMapping MutableSequence NamedTuple NoReturn Optional
        OrderedDict Protocol Self Sequence Set Sized SupportsFloat SupportsInt Text Tuple Type TypeAlias TypedDict
        Union Never Required NotRequired Concatenate"""
    members: Members = {name: Marker(name) for name in markers.split()}
    members |= {
        name: lambda value, *_rest: value
        for name in ("final", "overload", "runtime_checkable", "no_type_check")
    }
    members |= {
        name: lambda name, *_rest, **_options: Marker("Any") for name in ("TypeVar", "ParamSpec", "NewType")
    }
    return members | {"ClassVar": typing.ClassVar, "TYPE_CHECKING": False, "cast": lambda _kind, value: value}
