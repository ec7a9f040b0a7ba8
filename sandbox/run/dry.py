# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be said of a script without running it: the answer of a dry run."""

from __future__ import annotations

from typing import Any

from ...base.errors import HandlerError
from ..facts.policy import Policy
from ..language.arithmetic import calculate
from ..language.compile import Compiled, ScriptRefused

__all__ = ("report",)


def report(script: str, compiled: Compiled | None, rules: Policy) -> dict[str, Any]:
    """`{"status": "success", "dry_run": True, "message": …}`, with `warnings` where validation has any.

    `compiled` is None at the level `arithmetic`. Main thread, at any other level: this Blender is asked what it has.

    Raises ScriptRefused with all that the language, the policy and this Blender refuse, as a request that is shown to
    the user is refused before; PolicyError or LimitExceeded for what is no arithmetic.
    """
    if compiled is None:
        _check_arithmetic(script)
        return _said([], [])
    from ..reference import rna
    from .validate import validate

    found = validate(script, rna.current(), rules)
    if found.errors:
        raise ScriptRefused(found.errors)
    return _said(sorted(found.imports), [str(warning) for warning in found.warnings])


def _check_arithmetic(script: str) -> None:
    """Arithmetic reads and changes nothing, so that working it out is the way to check it."""
    try:
        calculate(script)
    except HandlerError:
        return  # a division by zero, which is the script's own affair


def _said(imports: list[str], warnings: list[str]) -> dict[str, Any]:
    used = f"; it imports {', '.join(imports)}" if imports else ""
    message = f"dry run: the script is well-formed and allowed, and was not executed{used}"
    said: dict[str, Any] = {"status": "success", "dry_run": True, "message": message}
    return {**said, "warnings": warnings} if warnings else said
