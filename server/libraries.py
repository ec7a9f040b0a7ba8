# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that the loaded libraries are versions that this extension was tested with.

All extensions of one Blender share one folder of libraries: the newest version wins on disk, and the first one
imported stays loaded. So another extension may have brought a version that does not fit. The server checks this at its
start, not when the extension is enabled.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import metadata

from ..base.errors import ExternalServiceError

__all__ = ("check",)

#: Distribution -> the major versions that fit. A loaded library has its version in `__version__`.
_FITTING: Mapping[str, frozenset[int]] = {
    "click": frozenset({8}),
    "fastjsonschema": frozenset({2}),
    "filelock": frozenset({3}),
    "h11": frozenset({0}),
    "prometheus_client": frozenset({0}),
    "RestrictedPython": frozenset({9}),
    "ruamel.yaml": frozenset({0}),
    "uvicorn": frozenset({0}),
    "websockets": frozenset({17}),
}


def check() -> None:
    """Raise ExternalServiceError that says which library does not fit and what to do."""
    misfits = [text for name, majors in _FITTING.items() if (text := _misfit(name, majors))]
    if misfits:
        raise ExternalServiceError(
            f"The server cannot start: {'; '.join(misfits)}. Another extension may have installed its own version. "
            "Disable that extension, reinstall MCP Bridge and restart Blender."
        )


def _misfit(name: str, majors: frozenset[int]) -> str | None:
    wanted = " or ".join(f"{major}.x" for major in sorted(majors))
    try:
        versions = {metadata.version(name)}
    except metadata.PackageNotFoundError:
        return f"the library {name} ({wanted}) is missing"
    # With `vars`: some modules issue a deprecation warning when their `__version__` is read as an attribute.
    loaded = vars(sys.modules[name]).get("__version__") if name in sys.modules else None
    if isinstance(loaded, str):
        versions.add(loaded)
    for version in sorted(versions):
        major = version.partition(".")[0]
        if not major.isdigit() or int(major) not in majors:
            return f"the library {name} is version {version}, needed is {wanted}"
    return None
