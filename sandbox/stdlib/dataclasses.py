# SPDX-License-Identifier: GPL-3.0-or-later
"""`dataclasses` for scripts: a field is a facade, and the decorator makes Python's own fields from it."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable
from typing import Any, Final

from ..guard.audit import may_raise
from ..guard.classes import Marker, name_of
from ..guard.facade import Facade, hide, seal
from ..guard.seam import Guard
from .errors import FrozenInstanceError

__all__ = ("dataclasses_members",)

MISSING: Final = Marker("MISSING")
_ANNOTATIONS: Final[dict[str, Any]] = {
    "ClassVar": typing.ClassVar,
    "InitVar": dataclasses.InitVar[object],
    "KW_ONLY": dataclasses.KW_ONLY,
}
"""What Python's dataclasses use in place of each marker of `typing`, by the marker's name."""
_OPTIONS: Final = frozenset(
    "init repr eq order unsafe_hash frozen match_args kw_only slots weakref_slot".split()
)
_FIELD_FLAGS: Final = frozenset("init repr hash compare kw_only".split())


class _Field(Facade):
    """The field that `field()` and `fields()` return."""

    __slots__ = ("about",)

    def __init__(self, about: dict[str, Any]) -> None:
        _set_about(self, about)

    @property
    def name(self) -> Any:
        """The name of the attribute."""
        return _about(self).get("name")

    @property
    def type(self) -> Any:
        """The annotation."""
        return _about(self).get("type")

    @property
    def default(self) -> Any:
        """The default value, or MISSING."""
        return _about(self).get("default", MISSING)

    @property
    def default_factory(self) -> Any:
        """The function that makes the default value, or MISSING."""
        return _about(self).get("default_factory", MISSING)


_about, _set_about = hide(_Field, "about")


@may_raise("compile", "exec", "object.__getattr__", "object.__setattr__", "sys._getframe")
def _decorated(guard: Guard, target: Any, options: dict[str, bool]) -> Any:
    if not isinstance(target, type) or target not in guard.own:
        raise TypeError("dataclass() decorates classes of the script")
    if not target.__doc__:
        target.__doc__ = target.__name__  # Python's docstring would show all defaults and annotations
    annotations = inspect.get_annotations(target)
    if annotations:
        target.__annotations__ = {
            name: _ANNOTATIONS.get(name_of(kind), kind) if type(kind) is Marker else kind
            for name, kind in annotations.items()
        }
    for name, value in list(vars(target).items()):
        if type(value) is _Field:
            setattr(target, name, dataclasses.field(**_about(value)))
    made = guard.adopt(dataclasses.dataclass(target, **options))
    if options.get("frozen"):
        _freeze(made)
    return made


def dataclasses_members(guard: Guard) -> dict[str, object]:
    """Return the members of `dataclasses`, for one run."""

    def dataclass(kind: Any = None, **options: Any) -> Any:
        unknown = options.keys() - _OPTIONS
        if unknown:
            raise TypeError(f"dataclass() got an unexpected keyword argument {min(unknown)!r}")
        chosen = {name: bool(value) for name, value in options.items()}
        return (
            seal(lambda target: _decorated(guard, target, chosen))
            if kind is None
            else _decorated(guard, kind, chosen)
        )

    def field(*, default: Any = MISSING, default_factory: Any = MISSING, **flags: Any) -> _Field:
        given = {"default": default, "default_factory": default_factory}
        about = {name: value for name, value in given.items() if value is not MISSING}
        if len(about) == 2:
            raise ValueError("cannot specify both default and default_factory")
        flags.pop("metadata", None)
        unknown = flags.keys() - _FIELD_FLAGS
        if unknown:
            raise TypeError(f"field() got an unexpected keyword argument {min(unknown)!r}")
        return _Field(about | {name: None if flag is None else bool(flag) for name, flag in flags.items()})

    def is_dataclass(value: Any) -> bool:
        return (value if isinstance(value, type) else type(value)) in guard.own and dataclasses.is_dataclass(
            value
        )

    def names_of_fields(value: Any) -> list[str]:
        if type(value) not in guard.own or not dataclasses.is_dataclass(value):
            raise TypeError("asdict(), astuple() and replace() take an instance of a dataclass")
        return [each.name for each in dataclasses.fields(value)]

    def asdict(value: Any, *, dict_factory: Any = dict) -> Any:
        return dict_factory([(name, plain(getattr(value, name), asdict)) for name in names_of_fields(value)])

    def astuple(value: Any, *, tuple_factory: Any = tuple) -> Any:
        return tuple_factory([plain(getattr(value, name), astuple) for name in names_of_fields(value)])

    def plain(value: Any, convert: Callable[[Any], Any]) -> Any:
        guard.meter.tick()
        if type(value) in guard.own and dataclasses.is_dataclass(value):
            return convert(value)
        if type(value) in (list, tuple, set):
            return type(value)([plain(part, convert) for part in value])
        if type(value) is dict:
            return {key: plain(part, convert) for key, part in value.items()}
        return value

    def replace(value: Any, /, **changes: Any) -> Any:
        names_of_fields(value)
        for each in dataclasses.fields(value):
            if not each.init:
                if each.name in changes:
                    raise ValueError(
                        f"field {each.name} is declared with init=False: replace() cannot set it"
                    )
            elif each.name not in changes:
                changes[each.name] = getattr(value, each.name)
        return type(value)(**changes)

    def fields(value: Any) -> tuple[_Field, ...]:
        if not is_dataclass(value):
            raise TypeError("fields() takes a dataclass of the script")
        return tuple(map(_as_field, dataclasses.fields(value)))

    return {
        "dataclass": dataclass,
        "field": field,
        "fields": fields,
        "asdict": asdict,
        "astuple": astuple,
        "replace": replace,
        "is_dataclass": is_dataclass,
        "MISSING": MISSING,
        "KW_ONLY": Marker("KW_ONLY"),
        "InitVar": Marker("InitVar"),
        "FrozenInstanceError": FrozenInstanceError,
    }


def _as_field(each: dataclasses.Field[Any]) -> _Field:
    about = {"name": each.name, "type": each.type if isinstance(each.type, str | type) else None}
    values = {"default": each.default, "default_factory": each.default_factory}
    return _Field(about | {name: value for name, value in values.items() if value is not dataclasses.MISSING})


def _freeze(kind: Any) -> None:
    """Make instances of a frozen dataclass raise our FrozenInstanceError instead of Python's."""
    frozen = {each.name for each in dataclasses.fields(kind)}

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        if type(self) is kind or name in frozen:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(kind, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is kind or name in frozen:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(kind, self).__delattr__(name)

    kind.__setattr__ = __setattr__
    kind.__delattr__ = __delattr__
