# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards for reading, setting and deleting `value[key]` in a script."""

from __future__ import annotations

import enum
import re
import types
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from ..facade import Facade
from ..operators import Operators
from ..reentry import may_call_scripts
from ..seam import Host

__all__ = ("Items",)

_SUBSCRIPTED: Final = frozenset({types.MappingProxyType, re.Match})
"""Types whose items are read without a guard."""


class Items:
    """The guards of items; `guards.Guard` derives from this and adds the others."""

    host: Host | None
    own: set[type]
    items: set[type]
    set_items: set[type]
    item_readers: dict[type, Callable[[Any, Any], Any]]
    item_writers: dict[type, Callable[[Any, Any, Any], None]]
    operators: Operators

    real: Callable[[Any], Any]
    """The type behind its facade; anything else is returned as it is."""
    _owned: Mapping[type, bool]

    def owns(self, kind: Any) -> bool:
        """Return whether the host guards values of this type."""
        known = self._owned.get(kind)
        return self.is_hosts(kind) if known is None else known

    def is_hosts(self, kind: Any) -> bool:
        """Return whether the host guards values of this type, with a new check; False for what is no type."""
        return self.host is not None and isinstance(kind, type) and self.host.owns(kind)

    def getitem(self, value: Any, key: Any) -> Any:
        """Read `value[key]`, checked."""
        kind = type(value)
        if kind in self.items:
            return value[key]
        read = self.item_readers.get(kind)
        if read is not None:
            return read(value, key)
        if self.owns(kind):
            assert self.host is not None
            if self.host.plain_items(kind, False):
                self.items.add(kind)
                return value[key]
            return self.host.getitem(value, key)
        if kind in self.own:
            self.items.add(kind)
            return value[key]
        if isinstance(self.real(value), type):
            return self._item_of_class(value, key)
        if kind in _SUBSCRIPTED or issubclass(kind, Facade):
            return value[key]
        return self._not_subscriptable(kind)

    def _item_of_class(self, value: Any, key: Any) -> Any:
        """Return an enum's member for `Color['RED']`, and the class itself for `list[int]`."""
        if isinstance(value, enum.EnumType) and (value in self.own):
            return value[key]
        return value

    def _not_subscriptable(self, kind: type) -> NoReturn:
        raise TypeError(f"{kind.__name__!r} object is not subscriptable")

    def setitem(self, value: Any, key: Any, new: Any) -> None:
        """Set `value[key] = new`, checked."""
        kind = type(value)
        if type(key) is slice and (kind in self.set_items or kind in self.own or kind is bytearray):
            self.operators.set_slice(value, key, new)
        elif kind in self.set_items:
            value[key] = new
        elif self.owns(kind):
            assert self.host is not None
            if self.host.plain_items(kind, True):
                self.set_items.add(kind)
                value[key] = new
            else:
                self.host.setitem(value, key, new)
        elif kind in self.own or kind is bytearray:
            self.set_items.add(kind)
            value[key] = new
        elif kind in self.item_writers:
            self.item_writers[kind](value, key, new)
        else:
            raise TypeError(f"{kind.__name__!r} object does not support item assignment")

    def delitem(self, value: Any, key: Any) -> None:
        """Delete `value[key]`, checked."""
        kind = type(value)
        if self.owns(kind):
            assert self.host is not None
            self.host.delitem(value, key)
        elif kind in self.set_items or kind in self.own:
            del value[key]
        else:
            raise TypeError(f"{kind.__name__!r} object does not support item deletion")


may_call_scripts(globals(), by_instruction=True)
