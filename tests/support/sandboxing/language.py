# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs scripts as the product does, but without its undo step and clean-up, for tests of the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import Compiled, compile_script
from bl_ext.user_default.mcp_bridge.sandbox.run.execute import prepare
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits, ScriptStopped, Watchdog

__all__ = ("Ran", "refusal", "run")


@dataclass
class Ran:
    """The outcome of a script."""

    names: dict[str, Any]
    output: str
    error: BaseException | None
    warnings: list[str]
    compiled: Compiled

    def __getitem__(self, name: str) -> Any:
        return self.names[name]


def run(
    source: str,
    *,
    limits: Limits | None = None,
    level: str = "math",
    stopped: bool = False,
    given: Mapping[str, Any] | None = None,
) -> Ran:
    """Run a script with the names `given`; raise its own exceptions, and a stop of the guards unless `stopped`."""
    compiled = compile_script(source)
    meter = Watchdog(limits or Limits())
    guard, running = prepare(compiled, policy(level), meter)  # type: ignore[arg-type]
    namespace = guard.namespace
    namespace.update(given or {})
    error: BaseException | None = None
    try:
        with meter, running:
            exec(compiled.code, namespace)
            meter.tick()
    except ScriptStopped as stop:
        if not stopped:
            raise stop.error from None
        error = stop
    return Ran(namespace, meter.output(), error, meter.warnings, compiled)


def refusal(source: str, *, limits: Limits | None = None, level: str = "math") -> BridgeError:
    """Return the error that ends a script: a refusal before it runs, or a stop by a guard or a limit.

    Raises:
        AssertionError: the script ran to its end.
    """
    try:
        run(source, limits=limits, level=level)
    except BridgeError as error:
        return error
    raise AssertionError(f"the script ran:\n{source}")
