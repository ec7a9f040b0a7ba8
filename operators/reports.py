# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells the user in Blender's status bar why a button could not do its work."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..base.errors import BridgeError

__all__ = ("reports_errors",)


def reports_errors(do: Callable[..., set[Any]]) -> Callable[..., set[Any]]:
    """Decorate an operator's `execute`: a BridgeError is reported as an error, and the operator is cancelled."""

    @wraps(do)
    def execute(self: Any, context: Any) -> set[Any]:
        try:
            return do(self, context)
        except BridgeError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}

    return execute
