# SPDX-License-Identifier: GPL-3.0-or-later
"""`types` for scripts."""

from __future__ import annotations

from typing import Any

from ..guard.seam import Guard
from ..guard.values.weight import SHOWN_WHOLE

__all__ = ("types_members",)


def types_members(guard: Guard) -> dict[str, object]:
    """Return the members of `types`, for one run."""
    return {"SimpleNamespace": simple_namespace(guard, "SimpleNamespace", "namespace")}


def simple_namespace(guard: Guard, name: str, shown_as: str) -> type:
    """Return a class of the script's own whose instances take any attribute that the script may set.

    Python's own SimpleNamespace also takes names that C code asks for, such as `__reduce_ex__`.
    """

    class Namespace:
        def __init__(self, /, **values: Any) -> None:
            for key, value in values.items():
                guard.set_named(self, key, value)

        def __eq__(self, other: object) -> Any:
            if type(other) is not type(self):
                return NotImplemented
            return guard.operators.compare("==", vars(self), vars(other))

        __hash__ = None  # type: ignore[assignment]

        def __repr__(self) -> str:
            parts = (f"{key}={guard.text.repr(value)}" for key, value in vars(self).items())
            text = f"{shown_as}({', '.join(parts)})"
            guard.operators.length(len(text), "text")
            return text

    Namespace.__name__ = Namespace.__qualname__ = name
    Namespace.__module__ = "<script>"
    SHOWN_WHOLE.add(Namespace)
    return guard.adopt(Namespace)
