# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists the ways to confine a process that this system may have, the strongest first."""

from __future__ import annotations

import sys
from typing import Final

from .config import Mode
from .means import Means, ZygoteMeans

__all__ = ("NONE", "candidates", "zygote")

_UNSUPPORTED = "This platform is not supported."
#: The message if there is no candidate, by the requested mode.
NONE: Final[dict[Mode | None, str]] = {
    None: _UNSUPPORTED,
    "unprivileged": _UNSUPPORTED,
    "container": "sandbox.mode is container, and neither podman nor docker is installed: install one, or leave the "
    "mode out.",
}


def candidates(mode: Mode | None) -> list[Means]:
    """Return this platform's means for one mode or every mode; only a trial shows whether they work."""
    found: list[Means] = []
    if sys.platform == "linux":
        from .linux.container import Container
        from .linux.start import Bubblewrap, Native

        if mode != "container":
            found += [Native(needs_namespaces=True), *Bubblewrap.installed(), Native()]
        if mode != "unprivileged":
            found += Container.installed()
    elif sys.platform == "darwin" and mode != "container":
        from .macos.start import Seatbelt

        found.append(Seatbelt())
    elif sys.platform == "win32" and mode != "container":
        from .windows.start import AppContainer

        found.append(AppContainer())
    return found


def zygote(chosen: Means) -> ZygoteMeans | None:
    """Return means to start a program once and copy it, confined as `chosen` confines; None if there are none."""
    if sys.platform != "linux":
        return None
    from .linux import kernel
    from .linux.forking import Zygote
    from .linux.start import Native

    return Zygote() if isinstance(chosen, Native) and kernel.known_machine() else None
