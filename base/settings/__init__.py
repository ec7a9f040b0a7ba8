# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings, and the source of each value. To add a setting, add one field to `fields.Settings`.

Sources; a later one overrides an earlier one:
defaults < preferences < `.env` file < environment < command line < policy file.
A policy file locks the settings that it names. There may be two policy files: the one that BLENDER_MCP_POLICY_FILE
names, and the one in Blender's system folder of extensions. The second overrides the first, since an artist's
environment cannot change where it lies.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..errors import SettingsError
from .fields import DEFAULT_PORT, AssetService, Confirm, Level, Rehearse, Settings, Source
from .setting import declared
from .values import header_fields

__all__ = (
    "DEFAULT_PORT",
    "AssetService",
    "Confirm",
    "Level",
    "Rehearse",
    "Settings",
    "current",
    "header_fields",
    "load",
    "read_env_file",
    "secrets",
    "set_arguments",
    "set_preferences",
    "set_system_policy",
)

_DECLARED = declared(Settings)
_VARIABLES = {one.variable: name for name, one in _DECLARED.items() if one.variable}
_SECRETS = tuple(name for name, one in sorted(_DECLARED.items()) if one.secret)


def load(
    *,
    environ: Mapping[str, str],
    preferences: Mapping[str, Any] = MappingProxyType({}),
    arguments: Mapping[str, Any] = MappingProxyType({}),
    system_policy: Path | None = None,
) -> Settings:
    """Combine these sources into the settings.

    `preferences` and `arguments` map field names to values; a missing field keeps the value of an earlier source.
    `system_policy`: a policy file that is read if it exists.
    Raises SettingsError naming the setting, the value and its source.
    """
    values: dict[str, Any] = {}
    origins: dict[str, Source] = {}
    for source, layer, label in _layers(environ, preferences, arguments, system_policy):
        for name, raw in layer.items():
            if name not in _DECLARED:
                raise SettingsError(
                    f"Unknown setting {name!r} in the {source}. Known: {', '.join(_DECLARED)}."
                )
            one = _DECLARED[name]
            try:
                values[name] = one.parse(raw)
            except ValueError as error:
                shown = "(hidden)" if one.secret else repr(raw)
                called = label.format(name=name, variable=one.variable)
                raise SettingsError(f"{called} is {shown} in the {source}: {error}.") from None
            origins[name] = source
    return Settings(**values, origins=MappingProxyType(origins))


def _layers(
    environ: Mapping[str, str],
    preferences: Mapping[str, Any],
    arguments: Mapping[str, Any],
    system_policy: Path | None,
) -> tuple[tuple[Source, Mapping[str, Any], str], ...]:
    """Return the sources in their order: name, values, and how an error names a setting there. Raises SettingsError."""
    env_file = environ.get("BLENDER_MCP_ENV_FILE")
    policy_file = environ.get("BLENDER_MCP_POLICY_FILE")
    return (
        ("preferences", preferences, "{name}"),
        (
            ".env file",
            _by_field(read_env_file(Path(env_file).expanduser())) if env_file else {},
            "{variable}",
        ),
        ("environment", _by_field(environ), "{variable}"),
        ("command line", arguments, "--{name}"),
        ("policy file", _read_policy_file(Path(policy_file).expanduser()) if policy_file else {}, "{name}"),
        (
            "policy file",
            _read_policy_file(system_policy) if system_policy and os.path.lexists(system_policy) else {},
            "{name}",
        ),
    )


def read_env_file(path: Path) -> dict[str, str]:
    """Variables of a `.env` file: `NAME=value` lines, `#` comments, optional `export` and matching quotes.

    Raises SettingsError when the file cannot be read or a line has another form.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"BLENDER_MCP_ENV_FILE names {path}, which cannot be read: {error}.") from None
    variables: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip().removeprefix("export ").strip()
        if not stripped or stripped.startswith("#"):
            continue
        name, equals, value = stripped.partition("=")
        if not equals or not name.strip().isidentifier():
            raise SettingsError(f"{path}, line {number}: expected NAME=value, found {line.strip()!r}.")
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        else:
            value = value.partition(" #")[0].rstrip()
        variables[name.strip()] = value
    return variables


def _by_field(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables by setting. An empty variable counts as not set: shells and containers pass such variables."""
    return {name: variables[variable] for variable, name in _VARIABLES.items() if variables.get(variable)}


def _read_policy_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(
            f"The policy file {path} cannot be used: {error}. "
            "Nothing is allowed until the policy can be read."
        ) from None


def secrets() -> tuple[str, ...]:
    """The current tokens and keys, which no record may contain. Empty while the settings are invalid."""
    try:
        now = current()
    except SettingsError:
        return ()
    return tuple(value for name in _SECRETS if (value := getattr(now, name)))


_preferences: Mapping[str, Any] = MappingProxyType({})
_arguments: Mapping[str, Any] = MappingProxyType({})
_system_policy: Path | None = None
#: The sources as of the last load, and the settings from that load.
_loaded: tuple[tuple[object, ...], Settings] | None = None


def set_preferences(preferences: Mapping[str, Any]) -> None:
    """Use the user's preferences. Pass only the fields that the user has changed."""
    global _preferences
    _preferences = MappingProxyType(dict(preferences))


def set_arguments(arguments: Mapping[str, Any]) -> None:
    """Use the values of the command line that started the server."""
    global _arguments
    _arguments = MappingProxyType(dict(arguments))


def set_system_policy(path: Path) -> None:
    """Set the path of the studio's policy file, which no source of the user overrides."""
    global _system_policy
    _system_policy = path


def current() -> Settings:
    """The current settings: loaded once, and loaded again when a source has changed.

    A call where nothing has changed costs a few microseconds. Raises SettingsError as `load` does.
    """
    global _loaded
    sources = _sources()
    if _loaded is None or _loaded[0] != sources:
        # Load after reading the sources' state: the next call then notices a change that happens in between.
        _loaded = (
            sources,
            load(
                environ=os.environ,
                preferences=_preferences,
                arguments=_arguments,
                system_policy=_system_policy,
            ),
        )
    return _loaded[1]


#: The variables with the path of a file, and the key of each in the dict behind os.environ.
_FILES = {
    name: getattr(os.environ, "encodekey", str)(name)
    for name in ("BLENDER_MCP_ENV_FILE", "BLENDER_MCP_POLICY_FILE")
}


def _sources() -> tuple[object, ...]:
    """The state of all sources: the result is equal to an earlier one if no source has changed."""
    # Copy the dict behind os.environ: a hundred times as fast as decoding each variable.
    environment = getattr(os.environ, "_data", os.environ).copy()
    named = [os.environ[name] for name, key in _FILES.items() if key in environment]
    files = (*(Path(name).expanduser() for name in named if name), *filter(None, [_system_policy]))
    return environment, _preferences, _arguments, *((path, _stamp(path)) for path in files)


def _stamp(path: Path) -> tuple[int, ...]:
    """Numbers that change when a file is written; empty if the file is missing or cannot be examined."""
    try:
        facts = path.stat()
    except OSError:
        return ()
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
