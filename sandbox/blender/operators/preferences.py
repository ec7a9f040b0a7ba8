# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script sees of the user's preferences: Cycles without devices, so that a script that looks for some goes on.

What it sets there is left as it is, which the result says; all else is refused.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from ...facts.reasons import why_property
from ...guard.facade import Facade, hide
from ...guard.seam import BlenderHost, Guard

__all__ = ("add_ons", "addons", "allow_preferences", "preferences")

_CYCLES: Final = "cycles"
_SET_BY_SCRIPTS: Final = frozenset(
    "compute_device_type kernel_optimization_level metalrt peer_memory use_hiprt use_metalrt use_oneapirt".split()
)


def preferences(host: BlenderHost, _context: Any, _name: str) -> _Preferences:
    """`Context.preferences`."""
    return _Preferences(host)


def addons(host: BlenderHost, _preferences: Any, _name: str) -> _Addons:
    """`Preferences.addons`."""
    return _Addons(host)


def add_ons(host: BlenderHost) -> dict[str, Any]:
    """`addon_utils`: a script sees Cycles alone, and switches nothing on or off."""

    def switch(name: Any, **_options: Any) -> None:
        if type(name) is not str:
            raise TypeError("the name of an add-on is a str")
        host.meter.warn(
            f"the add-on {name:.60} was left as it is: the user switches add-ons on, in Edit > Preferences > Add-ons"
        )

    return {
        "check": lambda name: (type(name) is str and name == _CYCLES,) * 2,
        "disable": switch,
        "enable": switch,
    }


def _refuse(host: BlenderHost, name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    host.refuse(
        f"{name:.60} of the preferences may not be used by a script: {why_property(['Preferences'], '')}",
        code="member",
    )


class _Part(Facade):
    """A part of the preferences."""

    __slots__ = ("host",)

    def __init__(self, host: BlenderHost) -> None:
        _set_host(self, host)

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(_host(self), name)

    def __setattr__(self, name: str, _new: Any) -> None:
        _refuse(_host(self), name)


_host, _set_host = hide(_Part, "host")


class _Preferences(_Part):
    """`Context.preferences`."""

    __slots__ = ()

    @property
    def addons(self) -> _Addons:
        """The add-ons of which a script sees something."""
        return _Addons(_host(self))


class _Addons(_Part):
    """`preferences.addons`."""

    __slots__ = ()

    def get(self, name: Any, default: Any = None) -> Any:
        """The add-on, or the default."""
        return _Addon(_host(self)) if name in self else default

    def __contains__(self, name: Any) -> bool:
        return type(name) is str and name == _CYCLES

    def __getitem__(self, name: Any) -> _Addon:
        if name not in self:
            raise KeyError(f"a script sees no preferences of the add-on {name!r:.60}")
        return _Addon(_host(self))

    def __iter__(self) -> NoReturn:
        _refuse(_host(self), "the list of add-ons")


class _Addon(_Part):
    """`addons["cycles"]`."""

    __slots__ = ()

    @property
    def module(self) -> str:
        """Its name."""
        return _CYCLES

    @property
    def preferences(self) -> _Devices:
        """Which devices render."""
        return _Devices(_host(self))


class _Devices(_Part):
    """The preferences of Cycles, as on a computer without a device that renders faster than the processor."""

    __slots__ = ()

    def __setattr__(self, name: str, _new: Any) -> None:
        if name not in _SET_BY_SCRIPTS:
            _refuse(_host(self), name)
        _host(self).meter.warn(
            f"{name} of the preferences was left as it is: the user sets which devices render, in "
            "Edit > Preferences > System; scene.cycles.device says whether they are used"
        )

    @property
    def compute_device_type(self) -> str:
        """`NONE`."""
        return "NONE"

    @property
    def devices(self) -> list[Any]:
        """None at all."""
        return []

    def get_devices(self, *_kind: Any, **_options: Any) -> None:
        """Do nothing."""

    refresh_devices = get_devices

    def get_devices_for_type(self, *_kind: Any, **_options: Any) -> list[Any]:
        """None at all."""
        return []

    def get_num_gpu_devices(self) -> int:
        """None at all."""
        return 0

    def has_active_device(self) -> bool:
        """False."""
        return False


def allow_preferences(guard: Guard) -> None:
    """Let a script set what it may seem to set."""
    guard.writable[_Devices] = _SET_BY_SCRIPTS
