# SPDX-License-Identifier: GPL-3.0-or-later
"""A rehearsal's child without the walls inside: it runs a script by plain `exec`.

So only the operating system stands between the script and this machine. The product has no such switch: this file
makes one from outside. It runs in the confined Blender, in place of `sandbox.rehearsal.child`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from typing import Any


def main(facts: dict[str, Any], say: Any, *, has_audit_wall: bool = False) -> None:
    """Run the product's child with another `execute.run`."""
    child = importlib.import_module("mcp_bridge.sandbox.rehearsal.child")
    execute = importlib.import_module("mcp_bridge.sandbox.run.execute")
    errors = importlib.import_module("mcp_bridge.base.errors")

    def run(script: str, **_more: Any) -> dict[str, Any]:
        import bpy

        bpy.ops.ed.undo_push(message="before")
        namespace: dict[str, Any] = {"__name__": "__main__"}
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                exec(compile(script, "<script>", "exec"), namespace)
        except BaseException as error:
            raise errors.HandlerError("execute_blender_code", error) from error
        bpy.ops.ed.undo_push(message="after")
        return {"result": repr(namespace.get("RESULT")), "stdout": said.getvalue()}

    execute.run = run
    if not has_audit_wall:
        child.Armed = lambda *_arguments, **_named: contextlib.nullcontext()
    child.main(facts, say)


if __name__ == "__main__":
    sys.exit("this runs in a rehearsal only")
