# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the answer of a dry run: what can be said about a script without running it."""

from __future__ import annotations

from typing import Any

from ...base.errors import HandlerError
from ..facts.policy import Policy
from ..language.arithmetic import calculate
from ..language.compile import Compiled, ScriptRefused

__all__ = ("report",)


def report(script: str, compiled: Compiled | None, rules: Policy) -> dict[str, Any]:
    """Return `{"status": "success", "dry_run": True, "message": …}`, with `warnings` if validation has any.

    `compiled` is None at the level `arithmetic`. At any other level this looks up what this Blender has, so call it on
    the main thread. Raises ScriptRefused with all that the language, the policy and this Blender refuse, as a request
    does before the user sees it; PolicyError or LimitExceeded for what is no arithmetic.
    """
    if compiled is None:
        _check_arithmetic(script)
        return _answer([], [])
    from ..reference import rna
    from .validate import validate

    found = validate(script, rna.current(), rules)
    if found.errors:
        raise ScriptRefused(found.errors)
    return _answer(sorted(found.imports), [str(warning) for warning in found.warnings])


def _check_arithmetic(script: str) -> None:
    """Calculate the arithmetic to check it: it reads and changes nothing."""
    try:
        calculate(script)
    except HandlerError:
        return  # a division by zero is an error of the script, not a refusal


def _answer(imports: list[str], warnings: list[str]) -> dict[str, Any]:
    used = f"; it imports {', '.join(imports)}" if imports else ""
    message = f"dry run: the script is well-formed and allowed, and was not executed{used}"
    said: dict[str, Any] = {"status": "success", "dry_run": True, "message": message}
    return {**said, "warnings": warnings} if warnings else said
