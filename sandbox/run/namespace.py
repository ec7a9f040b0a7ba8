# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the globals that a script runs in: its guards, and the views of the modules that it imports."""

from __future__ import annotations

from collections.abc import Collection

from ..blender.operators.preferences import allow_preferences
from ..facts.policy import Policy
from ..guard.guards import Guard
from ..guard.meter import Meter
from ..guard.modules import Imports
from ..guard.seam import Host
from ..language.analysis.reached import REACHED
from ..language.compile import Compiled
from ..stdlib.arrays import array_members
from ..stdlib.mathutils import allow_mathutils, mathutils_members
from ..stdlib.views import library_views

__all__ = ("build_guard",)


def build_guard(compiled: Compiled, policy: Policy, host: Host | None, meter: Meter) -> Guard:
    """Return the guards of one run of `compiled`; the code runs in their namespace: `exec(code, guard.namespace)`.

    The script's own names appear there beside the hooks, whose names all begin with '<'. `host` is None at the levels
    without Blender. `meter.printed` has what the script prints.
    """
    guard = Guard(meter, host)
    wanted = {each.module.partition(".")[0] for each in compiled.imports}
    imports = Imports(guard, _views(guard, policy.imports, wanted), policy.imports)
    guard.begin(
        imports, compiled.attributes_read, compiled.attributes_written, has_classes=compiled.has_classes
    )
    if compiled.reached is not None:
        guard.namespace[REACHED] = compiled.reached.flags
    return guard


def _views(guard: Guard, imports: Collection[str], wanted: Collection[str]) -> dict[str, object]:
    """Return the views of the modules that a script may import, by dotted name: ours and the host's.

    `wanted` are the root modules that the script imports; the other views are not made.
    """
    made = library_views(guard, wanted)
    if guard.host is not None:
        allow_mathutils(guard)
        allow_preferences(guard)
        made |= mathutils_members(guard) if "mathutils" in wanted else {}
        made |= array_members(guard) if "numpy" in imports and "numpy" in wanted else {}
        made |= guard.host.modules(wanted)
    return {name: view for name, view in made.items() if name in imports or name.startswith("numpy.")}
