# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes one instance of each class of error that the extension has."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import bl_ext.user_default.mcp_bridge as extension
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError

__all__ = ("every_error",)

#: Modules that run as programs or scripts when they are imported, or that only another system can import.
_LEFT_OUT = ("scripts", "windows", "macos")
#: Arguments for constructors, by the parameter's type if its name is not enough.
_VALUES: dict[str, Any] = {
    "original": ValueError("boom"),
    "near": ["a"],
    "status": 404,
    "data": b"",
    "line": 3,
    "retry_after": None,
}


def every_error() -> list[BridgeError]:
    """Return an instance of every class of error, after importing each module of the extension."""
    for found in pkgutil.walk_packages(extension.__path__, f"{extension.__name__}.", onerror=lambda _: None):
        if not set(found.name.split(".")) & set(_LEFT_OUT):
            importlib.import_module(found.name)
    return [_make(kind) for kind in _below(BridgeError)]


def _below(kind: type[BridgeError]) -> Iterator[type[BridgeError]]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def _make(kind: type[BridgeError]) -> BridgeError:
    if kind.__init__ is Exception.__init__:
        return kind("a message")
    arguments: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in inspect.signature(kind).parameters.values():
        value = _value(parameter.name)
        match parameter.kind:
            case inspect.Parameter.VAR_KEYWORD:
                pass
            case inspect.Parameter.KEYWORD_ONLY:
                named[parameter.name] = value
            case _:
                arguments.append(value)
    return kind(*arguments, **named)


def _value(name: str) -> Any:
    if name == "findings":
        from bl_ext.user_default.mcp_bridge.sandbox.language.nodes import Finding

        return (Finding("name", "wrong", 2, 1, "x", "do this"),)
    if name == "question":
        from bl_ext.user_default.mcp_bridge.operators.assets.asset_view import Question

        return Question("q", "Fetch it?")
    return _VALUES.get(name, "a message")
