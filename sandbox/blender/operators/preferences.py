# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's preferences for scripts: Cycles without devices, so that a script that looks for devices can go on.

What a script sets there changes nothing, and the result says so; everything else is refused.
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
    """Return the script's `Context.preferences`."""
    return _Preferences(host)


def addons(host: BlenderHost, _preferences: Any, _name: str) -> _Addons:
    """Return the script's `Preferences.addons`."""
    return _Addons(host)


def add_ons(host: BlenderHost) -> dict[str, Any]:
    """Return the members of `addon_utils`: a script sees only Cycles, and switches no add-on on or off."""

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


class _PreferencePart(Facade):
    """Base of the parts of the preferences: it refuses every other attribute."""

    __slots__ = ("host",)

    def __init__(self, host: BlenderHost) -> None:
        _set_host(self, host)

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(_host(self), name)

    def __setattr__(self, name: str, _new: Any) -> None:
        _refuse(_host(self), name)


_host, _set_host = hide(_PreferencePart, "host")


class _Preferences(_PreferencePart):
    """The script's `Context.preferences`."""

    __slots__ = ()

    @property
    def addons(self) -> _Addons:
        """The add-ons that a script can see."""
        return _Addons(_host(self))


class _Addons(_PreferencePart):
    """The script's `preferences.addons`."""

    __slots__ = ()

    def get(self, name: Any, default: Any = None) -> Any:
        """Return the add-on `name`, or the default."""
        return _Addon(_host(self)) if name in self else default

    def __contains__(self, name: Any) -> bool:
        return type(name) is str and name == _CYCLES

    def __getitem__(self, name: Any) -> _Addon:
        if name not in self:
            raise KeyError(f"a script sees no preferences of the add-on {name!r:.60}")
        return _Addon(_host(self))

    def __iter__(self) -> NoReturn:
        _refuse(_host(self), "the list of add-ons")


class _Addon(_PreferencePart):
    """The script's `addons["cycles"]`."""

    __slots__ = ()

    @property
    def module(self) -> str:
        """The name of the add-on."""
        return _CYCLES

    @property
    def preferences(self) -> _Devices:
        """The devices that render."""
        return _Devices(_host(self))


class _Devices(_PreferencePart):
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
        """The type of the devices that render: always `NONE`."""
        return "NONE"

    @property
    def devices(self) -> list[Any]:
        """The devices that render: always an empty list."""
        return []

    def get_devices(self, *_kind: Any, **_options: Any) -> None:
        """Do nothing."""

    refresh_devices = get_devices

    def get_devices_for_type(self, *_kind: Any, **_options: Any) -> list[Any]:
        """Return an empty list: there are no devices."""
        return []

    def get_num_gpu_devices(self) -> int:
        """Return 0: there are no devices."""
        return 0

    def has_active_device(self) -> bool:
        """Return False: there are no devices."""
        return False


def allow_preferences(guard: Guard) -> None:
    """Let a script set attributes of the devices, which changes nothing."""
    guard.writable[_Devices] = _SET_BY_SCRIPTS
