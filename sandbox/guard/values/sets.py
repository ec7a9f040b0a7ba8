# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps a script from changing a set while C code works on that set.

To add an item, Python compares it with others, and `__eq__()` or `__hash__()` of a script's class may then change the
same set. Python's own code does not expect that: the set's memory is damaged, and Blender may crash (CPython issues
141805 and 143546). So wherever a script has classes, each call that changes a set goes through `Sets.use`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from ....base.identity import identity
from ..reentry import may_call_scripts

__all__ = ("Sets",)

_OPERATORS: Final = ("and", "or", "sub", "xor")


class Sets:
    """The sets of one run that C code works on at this moment."""

    def __init__(self) -> None:
        self.guarded = False
        """Whether the script has classes: without them no code of a script runs while items are compared."""
        self._in_use: list[int] = []

    def use(
        self,
        used: Iterable[Any],
        function: Callable[..., Any],
        *operands: Any,
        changed: Any = None,
        **named: Any,
    ) -> Any:
        """Return `function(*operands, **named)`; meanwhile no call through here may change the sets `used`.

        Raises RuntimeError if `changed`, the set that the function changes, is in use: as Python does for a dict that
        changes while a loop reads it.
        """
        if not self.guarded:
            return function(*operands, **named)
        in_use = self._in_use
        if changed is not None and identity(changed) in in_use:
            raise RuntimeError("set changed while Python compares its items")
        before = len(in_use)
        try:
            in_use += map(identity, used)
            return function(*operands, **named)
        finally:
            del in_use[before:]

    def operators(self) -> dict[str, Callable[[Any, Any], Any]]:
        """Return the operators of sets, as methods for the base of a script's own set classes."""
        made: dict[str, Callable[[Any, Any], Any]] = {}
        for sign in _OPERATORS:
            for prefix in ("", "r", "i"):
                name = f"__{prefix}{sign}__"
                made[name] = self._operator(getattr(set, name), changes=prefix == "i")
        return made

    def _operator(self, plain: Callable[[Any, Any], Any], *, changes: bool) -> Callable[[Any, Any], Any]:
        def operator(left: Any, right: Any) -> Any:
            sets = [each for each in (left, right) if isinstance(each, set)]
            return self.use(sets, plain, left, right, changed=left if changes else None)

        return operator


may_call_scripts(globals())
