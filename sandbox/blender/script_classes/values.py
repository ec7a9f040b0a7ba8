# SPDX-License-Identifier: GPL-3.0-or-later
"""`bpy.props` for the operators of a script: values of one type within their limits, as Blender keeps them."""

from __future__ import annotations

import array
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import bpy
import mathutils

from ...facts.reasons import why_blender
from ...guard.facade import Facade, hide
from ...guard.seam import BlenderHost
from ..plain_values import as_plain

__all__ = ("Property", "functions", "of", "settle")

_KINDS: Final = {"Bool": bool, "Int": int, "Float": float}
_CALLED: Final = ("get", "set", "update", "search", "poll", "get_transform", "set_transform")
"""Parameters that take a function which Blender calls."""
_VECTORS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("COLOR", "COLOR_GAMMA"), mathutils.Color),
    **dict.fromkeys("TRANSLATION DIRECTION VELOCITY ACCELERATION XYZ XYZ_LENGTH".split(), mathutils.Vector),
    "EULER": mathutils.Euler,
    "QUATERNION": mathutils.Quaternion,
}
"""The type of a vector of a subtype, if it has that type's length; else the value is a list."""
_INT_LIMIT: Final = (1 << 31) - 1
_NO_SEQUENCE: Final = TypeError if bpy.app.version >= (5, 2) else ValueError
"""The exception that Blender raises if a vector is set to a value without a length."""


class _About(NamedTuple):
    kind: str
    """`Bool`, `Int`, `Float`, `String` or `Enum`; `Collection`, which stays empty; "" for one without a value."""
    default: Any
    size: int | None
    least: float | None
    most: float | None
    choices: tuple[str, ...]
    several: bool
    subtype: str
    length: int


_WITHOUT_VALUE: Final = _About("", None, None, None, None, (), False, "NONE", 0)


class Property(Facade):
    """The result of `bpy.props.FloatProperty(…)`; as an attribute of a registered class it keeps the values."""

    __slots__ = ("about", "name")

    def __init__(self, about: _About, name: str = "") -> None:
        _set_about(self, about)
        _set_name(self, name)

    def __get__(self, instance: Any, _owner: Any = None) -> Any:
        if instance is None or not _name(self):
            return self
        kept = vars(instance)
        if _name(self) not in kept:
            unlimited = _about(self)._replace(least=None, most=None)  # Blender does not limit a default
            kept[_name(self)] = _convert(unlimited, _name(self), unlimited.default)
        return kept[_name(self)]

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[_name(self)] = _convert(_about(self), _name(self), value)


_about, _set_about = hide(Property, "about")
_name, _set_name = hide(Property, "name")


def functions() -> dict[str, Callable[..., Property]]:
    """Return the script's functions of `bpy.props`."""
    made = {"PointerProperty": _maker(""), "CollectionProperty": _maker("Collection")}
    for kind in _KINDS:
        made |= {f"{kind}Property": _maker(kind), f"{kind}VectorProperty": _maker(kind, 3)}
    return made | {"StringProperty": _maker("String"), "EnumProperty": _maker("Enum")}


def _maker(kind: str, size: int | None = None) -> Callable[..., Property]:
    def make(**arguments: Any) -> Property:
        if (
            not kind
            or callable(arguments.get("items"))
            or any(arguments.get(name) is not None for name in _CALLED)
        ):
            return Property(_WITHOUT_VALUE)
        return Property(_describe(kind, size and int(as_plain(arguments.get("size", size))), arguments))

    return make


def _describe(kind: str, size: int | None, arguments: dict[str, Any]) -> _About:
    if size is not None and not 1 <= size <= 32:
        raise TypeError(f"{kind}VectorProperty(): size is a number from 1 to 32")
    choices = tuple(each[0] for each in arguments.get("items", ()) if type(each) in (tuple, list) and each)
    for each in choices:
        if not isinstance(each, str):
            raise TypeError(f"EnumProperty(): the identifier of an item is a text, not {type(each).__name__}")
    if kind == "Enum" and not choices:
        raise TypeError("EnumProperty(): expected items, a sequence of (identifier, name, description)")
    several = any(each == "ENUM_FLAG" for each in arguments.get("options", ()) if type(each) is str)
    empty: Any = {"String": "", "Enum": set() if several else choices[:1] and choices[0]}.get(kind, 0)
    default = arguments.get("default", empty if size is None else [empty] * size)
    if kind == "Enum" and type(default) is int:
        default = choices[default]
    subtype = arguments.get("subtype", "NONE")
    about = _About(
        *(kind, default, size, _limit(arguments, "min"), _limit(arguments, "max"), choices, several),
        *(subtype if type(subtype) is str else "NONE", _length(arguments)),
    )
    unlimited = about._replace(least=None, most=None)
    return about._replace(default=_convert(unlimited, f"{kind}Property", default, as_list=True))


def _limit(arguments: dict[str, Any], name: str) -> float | None:
    value = arguments.get(name)
    return None if value is None else float(as_plain(value))


def _length(arguments: dict[str, Any]) -> int:
    return max(int(as_plain(arguments.get("maxlen", 0))), 0)


def of(kind: type) -> dict[str, Property]:
    """Return the settled properties of a class and its bases, by name."""
    return {
        name: value
        for base in reversed(kind.__mro__)
        for name, value in vars(base).items()
        if type(value) is Property and _name(value)
    }


def settle(host: BlenderHost, kind: type) -> None:
    """Make attributes of the properties that the bodies of an operator's class and of its bases annotate.

    Refuses pointers, and properties for which Blender would call a function.
    """
    for base in reversed(kind.__mro__):
        for name, value in getattr(base, "__annotations__", {}).items():
            if type(value) is Property and type(name) is str:
                if not _about(value).kind:
                    host.refuse(
                        f"property {name!r} of {kind.__name__}: {why_blender('bpy.props')}", code="module"
                    )
                type.__setattr__(kind, name, Property(_about(value), name))


def _convert(about: _About, name: str, value: Any, *, as_list: bool = False) -> Any:
    """Return the value as Blender keeps it. Raises TypeError or ValueError as Blender does."""
    if about.size is None:
        return _convert_item(about, name, value)
    if not hasattr(type(value), "__len__"):
        raise _NO_SEQUENCE(f"{name}: a sequence of {about.size} items expected, not {type(value).__name__!r}")
    items = list(value)
    if len(items) != about.size:
        raise ValueError(f"{name}: the sequence should contain {about.size} items, not {len(items)}")
    plain = [_convert_item(about, name, item) for item in items]
    make = _VECTORS.get(about.subtype)
    if as_list or make is None or len(make()) != about.size:
        return plain
    return make(plain)


def _convert_item(about: _About, name: str, value: Any) -> Any:
    value = as_plain(value)
    match about.kind:
        case "Collection":
            return []
        case "String":
            if type(value) is not str:
                raise TypeError(f"{name} expected a string type, not {type(value).__name__}")
            return value.encode()[: about.length].decode(errors="ignore") if about.length else value
        case "Enum":
            return _choose(about, name, value)
        case "Float":
            if type(value) not in (int, float, bool):
                raise TypeError(f"{name} expected a float type, not {type(value).__name__}")
            return array.array("f", [_within(about, float(value))])[0]
    if type(value) not in (int, bool) or (about.kind == "Bool" and value not in (0, 1)):
        wanted = "an int type" if about.kind == "Int" else "True/False or 0/1"
        raise TypeError(f"{name} expected {wanted}, not {type(value).__name__}")
    return (
        bool(value) if about.kind == "Bool" else int(_within(about, max(min(value, _INT_LIMIT), -_INT_LIMIT)))
    )


def _within(about: _About, value: float) -> float:
    value = value if about.least is None else max(value, about.least)
    return value if about.most is None else min(value, about.most)


def _choose(about: _About, name: str, value: Any) -> Any:
    several = type(value) is set
    if several != about.several:
        raise TypeError(f"{name} expected {'a set' if about.several else 'a string enum'}")
    for each in value if several else (value,):
        if type(each) is not str or each not in about.choices:
            shown = each if type(each) is str else type(each).__name__
            wrong = ValueError if several else TypeError
            raise wrong(f"{name}: enum {shown[:60]!r} not found in {about.choices[:20]}")
    return set(value) if several else value
