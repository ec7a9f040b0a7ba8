# SPDX-License-Identifier: GPL-3.0-or-later
"""How processes are confined and watched: one typed object, also read from a TOML file.

    [sandbox]
    mode = "unprivileged"        # or "container"; without it, what this system has
    default_timeout_sec = 30
    default_mem_mb = 256
    network_default = "deny"     # or "allow-list"
    allowed_hosts = ["polyhaven.org", "api.sketchfab.com"]
    workdir_base = "/tmp/mcp-runs"

    [supervisor]
    restart_policy = "never"     # "on-failure", "always"
    backoff_seconds = 5

The keys are those of the specification; further ones are fields of the classes below.
"""

from __future__ import annotations

import getpass
import os
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from ...base.errors import SettingsError

__all__ = ("Config", "Mode", "NetPolicy", "RestartPolicy", "Sandbox", "Supervision", "load")

Mode = Literal["container", "unprivileged"]
NetPolicy = Literal["deny", "allow-list"]
RestartPolicy = Literal["never", "on-failure", "always"]


def _default_base() -> Path:
    # The user's own name is in it: a folder in /tmp belongs to whoever made it first.
    return Path(tempfile.gettempdir()) / f"mcp-runs-{getattr(os, 'getuid', getpass.getuser)()}"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What a process may use by default."""

    #: None: what this system offers, the kernel's own means before a container.
    mode: Mode | None = None
    default_timeout_sec: float = 30.0
    default_mem_mb: int = 256
    #: Enough for Blender with an open scene; a large scene gets more.
    blender_mem_mb: int = 4096
    #: The most bytes that a process may leave in its work folder, and of one file in it.
    disk_mb: int = 512
    network_default: NetPolicy = "deny"
    #: `host` (ports 80 and 443) or `host:port`; `*.host` for every name below it.
    allowed_hosts: tuple[str, ...] = (
        "polyhaven.org",
        "api.polyhaven.com",
        "dl.polyhaven.org",
        "cdn.polyhaven.com",
        "api.sketchfab.com",
    )
    workdir_base: Path = field(default_factory=_default_base)


@dataclass(frozen=True, slots=True)
class Supervision:
    """When the supervisor restarts a process that has ended. The wait doubles with each restart in a row."""

    restart_policy: RestartPolicy = "never"
    backoff_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Config:
    """Both tables of the TOML file."""

    sandbox: Sandbox = field(default_factory=Sandbox)
    supervisor: Supervision = field(default_factory=Supervision)


def load(path: Path) -> Config:
    """Return the configuration from a TOML file; missing keys keep their defaults.

    Raises SettingsError naming the key, the value and what to use instead.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be used: {error}.") from None
    unknown = set(data) - {"sandbox", "supervisor"}
    if unknown:
        raise SettingsError(f"{path}: unknown table [{min(unknown)}]. Known: [sandbox], [supervisor].")
    return Config(
        _table(Sandbox, data.get("sandbox", {}), path, "sandbox"),
        _table(Supervision, data.get("supervisor", {}), path, "supervisor"),
    )


def _choice(allowed: tuple[str, ...]) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"use one of {', '.join(allowed)}")
        return str(value)

    return parse


def _positive(kind: Callable[[Any], float]) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise ValueError("use a number above 0")
        return kind(value)

    return parse


def _hosts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(host, str) and host for host in value):
        raise ValueError('use a list of names, such as ["polyhaven.org"]')
    return tuple(host.lower() for host in value)


def _folder(value: Any) -> Path:
    if not isinstance(value, str) or not Path(value).expanduser().is_absolute():
        raise ValueError("use the full path of a folder")
    return Path(value).expanduser()


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "mode": _choice(get_args(Mode)),
    "default_timeout_sec": _positive(float),
    "default_mem_mb": _positive(int),
    "blender_mem_mb": _positive(int),
    "disk_mb": _positive(int),
    "network_default": _choice(get_args(NetPolicy)),
    "allowed_hosts": _hosts,
    "workdir_base": _folder,
    "restart_policy": _choice(get_args(RestartPolicy)),
    "backoff_seconds": _positive(float),
}

T = TypeVar("T", Sandbox, Supervision)


def _table(kind: type[T], values: Any, path: Path, table: str) -> T:
    known = [spec.name for spec in fields(kind)]
    if not isinstance(values, dict) or not values.keys() <= set(known):
        wrong = next((key for key in values if key not in known), table)
        raise SettingsError(f"{path}: unknown key {wrong!r} in [{table}]. Known: {', '.join(known)}.")
    parsed: dict[str, Any] = {}
    for name, value in values.items():
        try:
            parsed[name] = _PARSERS[name](value)
        except ValueError as error:
            raise SettingsError(f"{path}: {table}.{name} is {value!r}: {error}.") from None
    return kind(**parsed)
