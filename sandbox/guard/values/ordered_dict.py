# SPDX-License-Identifier: GPL-3.0-or-later
"""`collections.OrderedDict` for scripts: Python's own crashes where a key's `__eq__` changes it meanwhile."""

from __future__ import annotations

import sys
from typing import Any

from ..facade import Sealed
from ..reentry import may_call_scripts

__all__ = ("OrderedDict",)


class OrderedDict(dict, metaclass=Sealed):  # type: ignore[type-arg]
    """A dict that can move keys to its ends, and whose order counts in comparisons with others of its kind."""

    __slots__ = ()

    def move_to_end(self, key: Any, last: Any = True) -> None:
        """Make `key` the last one, or the first one. Raises KeyError."""
        value = dict.pop(self, key)
        if last:
            dict.__setitem__(self, key, value)
            return
        others = dict(self)
        dict.clear(self)
        dict.__setitem__(self, key, value)
        dict.update(self, others)

    def popitem(self, last: Any = True) -> tuple[Any, Any]:
        """Remove the last pair of key and value, or the first one, and return it. Raises KeyError."""
        if last or not self:
            return dict.popitem(self)
        key = next(iter(self))
        return key, dict.pop(self, key)

    def copy(self) -> OrderedDict:
        """Return a copy."""
        return OrderedDict(self)

    def __eq__(self, other: object) -> bool:
        same = dict.__eq__(self, other)
        return same is True and list(self) == list(other) if isinstance(other, OrderedDict) else same

    def __ne__(self, other: object) -> bool:
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    __hash__ = None

    def __or__(self, other: Any) -> Any:
        return OrderedDict(dict.__or__(self, other)) if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return OrderedDict(dict.__or__(other, self)) if isinstance(other, dict) else NotImplemented

    def __repr__(self) -> str:
        shown = (
            ""
            if not self
            else dict.__repr__(self)
            if sys.version_info >= (3, 12)
            else f"{list(self.items())!r}"
        )
        return f"OrderedDict({shown})"


may_call_scripts(globals())
