# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs scripts under the language's guards alone, without Blender's: what tests of the sandbox's language share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import Compiled, compile_script
from bl_ext.user_default.mcp_bridge.sandbox.run.namespace import build_namespace
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits, ScriptStopped, Watchdog

__all__ = ("Ran", "refusal", "run")


@dataclass
class Ran:
    """What came of a script."""

    names: dict[str, Any]
    output: str
    error: BaseException | None
    warnings: list[str]
    compiled: Compiled

    def __getitem__(self, name: str) -> Any:
        return self.names[name]


def run(source: str, *, limits: Limits | None = None, level: str = "math", stopped: bool = False) -> Ran:
    """Run a script; its own exceptions are raised, a stop of the guards only if `stopped` is False."""
    compiled = compile_script(source)
    meter = Watchdog(limits or Limits())
    namespace = build_namespace(compiled, policy(level), None, meter)  # type: ignore[arg-type]
    error: BaseException | None = None
    try:
        with meter:
            exec(compiled.code, namespace)
            meter.tick()
    except ScriptStopped as stop:
        if not stopped:
            raise stop.error from None
        error = stop
    return Ran(namespace, meter.output(), error, meter.warnings, compiled)


def refusal(source: str, *, limits: Limits | None = None) -> BridgeError:
    """The error that ends a script: refused before it runs, or stopped by a guard or a limit.

    Raises:
        AssertionError: the script ran to its end.
    """
    try:
        run(source, limits=limits)
    except BridgeError as error:
        return error
    raise AssertionError(f"the script ran:\n{source}")
