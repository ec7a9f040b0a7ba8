# SPDX-License-Identifier: GPL-3.0-or-later
"""One typed object with every setting, and where each value came from.

Sources, the later one winning:
defaults < preferences < `.env` file < environment < command line < policy file.
What a policy file names is locked. There may be two: the one that BLENDER_MCP_POLICY_FILE names, and, stronger, the
one in Blender's system folder of extensions, which an artist's environment does not reach.
A new setting is a field of `Settings` and a row of `_FIELDS`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args
from urllib.parse import unquote, urlsplit

from .errors import SettingsError

__all__ = (
    "DEFAULT_PORT",
    "Confirm",
    "Level",
    "Rehearse",
    "Settings",
    "current",
    "header_fields",
    "load",
    "secrets",
    "set_arguments",
    "set_preferences",
    "set_system_policy",
)

DEFAULT_PORT = 9876
_UNREHEARSED_S = 10.0

Level = Literal["arithmetic", "math", "blender"]
Confirm = Literal["panel", "client", "auto"]
Rehearse = Literal["always", "asking", "never"]
AssetService = Literal["polyhaven", "sketchfab", "hyper3d"]
Source = Literal["preferences", ".env file", "environment", "command line", "policy file"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting of the bridge. Times in seconds, sizes as the name says."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    #: More names that a request's Host header may carry, for containers and WSL.
    allowed_hosts: tuple[str, ...] = ()
    #: A token from the environment; None: the tokens minted for named clients alone.
    token: str | None = None
    autostart: bool = False
    max_message_bytes: int = 64 * 1024 * 1024
    max_connections: int = 64
    max_in_flight: int = 64

    log_level: str = "INFO"
    log_format: str = "text"
    log_handler: str = "console"
    log_file: Path | None = None

    execute_enabled: bool = True
    dry_run: bool = False
    #: None: `panel` with a window, `client` without one.
    confirm: Confirm | None = None
    #: Which scripts of `execute_blender_code` are rehearsed: all, those about which somebody is asked, or none.
    #: `inject_bpy_script` always is.
    rehearse: Rehearse = "asking"
    level: Level = "blender"
    #: Of a script that was rehearsed; see `time_limit` for the others.
    time_limit_s: float = 30.0
    memory_limit_mb: int = 1024
    output_limit_kb: int = 1024
    source_limit_kb: int = 256
    rate_limit: int = 60
    rate_window_s: float = 60.0

    #: Whether references of a script may be written, so that they say that what they point to was removed. Else a
    #: script that holds such a reference is stopped.
    cut_references: bool = True

    #: Another Blender to rehearse scripts in; None: this one.
    rehearsal_blender: Path | None = None

    #: Whether assistants may use tools that other extensions offer.
    extension_tools: bool = True

    #: Where assistants may read and write files; None: nowhere.
    file_folders: tuple[Path, ...] | None = None

    #: Where renders may go besides this Blender: `NAME = ENGINE option=value …`, with `;` between several.
    render_targets: str = "this computer = openjd"

    #: Days for which the journal, and what belongs to its requests, is kept; the specification asks for 30 at least.
    journal_days: int = 30
    journal_code: bool = True

    #: The base address of an OpenTelemetry collector that takes traces over OTLP/HTTP; None: none are kept.
    otlp_endpoint: str | None = None
    #: Headers for the collector, `name=value,name=value`, such as a key.
    otlp_headers: str | None = None

    #: Where assets may be fetched from.
    asset_services: tuple[AssetService, ...] = ("polyhaven", "sketchfab", "hyper3d")
    #: Keys of the asset services.
    sketchfab_token: str | None = None
    hyper3d_key: str | None = None
    fal_key: str | None = None
    #: An asset larger than this is fetched only after the user said yes.
    ask_above_mb: int = 500
    cache_quota_mb: int = 8000

    #: Field name -> the source its value came from; a field that is not named has its default.
    origins: Mapping[str, Source] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def locked(self) -> frozenset[str]:
        """Names of the fields that the policy file decides: a user's own choice has no effect on them."""
        return frozenset(name for name, source in self.origins.items() if source == "policy file")

    def time_limit(self, *, rehearsed: bool) -> float:
        """Seconds that a script may run in the open scene.

        Of one that was rehearsed it is known, and the user has seen, how long it takes: by default it may take longer.
        """
        chosen = rehearsed or "time_limit_s" in self.origins
        return self.time_limit_s if chosen else min(self.time_limit_s, _UNREHEARSED_S)

    def confirm_with(self, *, window: bool) -> Confirm:
        """Who is asked before a script runs, given whether this Blender has a window."""
        return self.confirm or ("panel" if window else "client")


_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError("use on or off")


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        try:
            number = int(value)
        except (TypeError, ValueError):
            number = low - 1
        if not low <= number <= high:
            raise ValueError(f"use a whole number from {low} to {high}")
        return number

    return parse


def _seconds(low: float, high: float) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = low - 1
        if not low <= number <= high:
            raise ValueError(f"use a number of seconds from {low:g} to {high:g}")
        return number

    return parse


def _choice(*allowed: str, fold: Callable[[str], str] = str.lower) -> Callable[[Any], Any]:
    def parse(value: Any) -> str:
        text = fold(str(value).strip())
        if text not in allowed:
            raise ValueError(f"use one of {', '.join(allowed)}")
        return text

    return parse


def _text(value: Any) -> str:
    text = str(value).strip()
    if not text:
        raise ValueError("use a text that is not empty")
    return text


def _token(value: Any) -> str:
    text = _text(value)
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("use printable ASCII characters without spaces")
    return text


def _address(value: Any) -> str:
    text = _token(value)
    try:
        parts = urlsplit(text)
        usable = (
            parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) and not parts.query
        )
    except ValueError:  # a port that is no number
        usable = False
    if not usable or "@" in text or "#" in text:
        raise ValueError("use an address such as http://127.0.0.1:4318, without user, query and fragment")
    return text


def header_fields(text: str) -> dict[str, str]:
    """The headers of `name=value,name=value`, percent-encoded, as OpenTelemetry writes them. Raises ValueError."""
    found: dict[str, str] = {}
    for part in filter(str.strip, text.split(",")):
        name, equals, value = part.partition("=")
        name, value = name.strip(), unquote(value.strip())
        if not equals or not _HEADER_NAME.fullmatch(name) or not value.isprintable() or not value.isascii():
            raise ValueError("use name=value, with commas between several")
        found[name] = value
    return found


def _headers(value: Any) -> str:
    text = _text(value)
    header_fields(text)
    return text


def _names(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(str(part).strip().lower() for part in parts if str(part).strip())


def _path(value: Any) -> Path:
    return Path(_text(value)).expanduser()


def _folders(value: Any) -> tuple[Path, ...] | None:
    parts = value.split(os.pathsep) if isinstance(value, str) else value
    folders = tuple(_path(part) for part in parts if str(part).strip())
    for folder in folders:
        if not folder.is_absolute() or str(folder).startswith("//"):
            raise ValueError(f"use absolute paths, with {os.pathsep!r} between them")
    return folders or None


def _several(*choices: str) -> Callable[[Any], tuple[str, ...]]:
    def parse(value: Any) -> tuple[str, ...]:
        named = set(value.replace(",", " ").split() if isinstance(value, str) else value)
        if named - set(choices):
            raise ValueError(f"use any of {', '.join(choices)}")
        return tuple(choice for choice in choices if choice in named)

    return parse


#: Field -> (environment variable or None, parser). The parser raises ValueError saying what to use instead.
_FIELDS: Mapping[str, tuple[str | None, Callable[[Any], Any]]] = {
    "host": ("BLENDER_HOST", _text),
    "port": ("BLENDER_PORT", _whole(1024, 65535)),
    "allowed_hosts": ("BLENDER_MCP_ALLOWED_HOSTS", _names),
    "token": ("BLENDER_MCP_TOKEN", _token),
    "autostart": (None, _flag),
    "max_message_bytes": (None, _whole(64 * 1024, 1024 * 1024 * 1024)),
    "max_connections": (None, _whole(1, 1024)),
    "max_in_flight": (None, _whole(1, 1024)),
    "log_level": (
        "BLENDER_MCP_LOG_LEVEL",
        _choice("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", fold=str.upper),
    ),
    "log_format": ("BLENDER_MCP_LOG_FORMAT", _choice("text", "json")),
    "log_handler": ("BLENDER_MCP_LOG_HANDLER", _choice("console", "file")),
    "log_file": ("BLENDER_MCP_LOG_FILE", _path),
    "execute_enabled": ("BLENDER_MCP_EXECUTE", _flag),
    "dry_run": ("BLENDER_MCP_EXECUTE_DRY_RUN", _flag),
    "confirm": ("BLENDER_MCP_CONFIRM", _choice(*get_args(Confirm))),
    "rehearse": ("BLENDER_MCP_REHEARSE", _choice(*get_args(Rehearse))),
    "level": ("BLENDER_MCP_LEVEL", _choice(*get_args(Level))),
    "time_limit_s": ("BLENDER_MCP_TIME_LIMIT", _seconds(0.1, 3600)),
    "memory_limit_mb": (None, _whole(64, 1024 * 1024)),
    "output_limit_kb": (None, _whole(1, 64 * 1024)),
    "source_limit_kb": (None, _whole(1, 16 * 1024)),
    "rate_limit": ("BLENDER_MCP_RATE_LIMIT", _whole(1, 1_000_000)),
    "rate_window_s": (None, _seconds(1, 86400)),
    "cut_references": ("BLENDER_MCP_CUT_REFERENCES", _flag),
    "rehearsal_blender": (None, _path),
    "extension_tools": ("BLENDER_MCP_EXTENSION_TOOLS", _flag),
    "file_folders": ("BLENDER_MCP_FOLDERS", _folders),
    "render_targets": (None, str),
    "journal_days": ("BLENDER_MCP_JOURNAL_DAYS", _whole(30, 3650)),
    "journal_code": (None, _flag),
    "otlp_endpoint": ("BLENDER_MCP_OTLP_ENDPOINT", _address),
    "otlp_headers": ("BLENDER_MCP_OTLP_HEADERS", _headers),
    "asset_services": (None, _several(*get_args(AssetService))),
    "sketchfab_token": ("BLENDER_MCP_SKETCHFAB_TOKEN", _text),
    "hyper3d_key": ("BLENDER_MCP_HYPER3D_KEY", _text),
    "fal_key": ("BLENDER_MCP_FAL_KEY", _text),
    "ask_above_mb": (None, _whole(1, 1_000_000)),
    "cache_quota_mb": (None, _whole(100, 1_000_000)),
}
#: Fields whose values are never shown.
_SECRET = frozenset({"token", "otlp_headers", "sketchfab_token", "hyper3d_key", "fal_key"})
_VARIABLES = {variable: name for name, (variable, _) in _FIELDS.items() if variable}

assert {spec.name for spec in fields(Settings)} - {"origins"} == set(_FIELDS)


def load(
    *,
    environ: Mapping[str, str],
    preferences: Mapping[str, Any] = MappingProxyType({}),
    arguments: Mapping[str, Any] = MappingProxyType({}),
    system_policy: Path | None = None,
) -> Settings:
    """The settings that these sources give together.

    `preferences` and `arguments` map field names to values; a field that is left out keeps what came before.
    `system_policy`: a policy file that counts if it is there.
    Raises SettingsError naming the setting, the value and its source.
    """
    env_file = environ.get("BLENDER_MCP_ENV_FILE")
    policy_file = environ.get("BLENDER_MCP_POLICY_FILE")
    layers: tuple[tuple[Source, Mapping[str, Any], str], ...] = (
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
    values: dict[str, Any] = {}
    origins: dict[str, Source] = {}
    for source, layer, label in layers:
        for name, raw in layer.items():
            if name not in _FIELDS:
                raise SettingsError(f"Unknown setting {name!r} in the {source}. Known: {', '.join(_FIELDS)}.")
            variable, parse = _FIELDS[name]
            try:
                values[name] = parse(raw)
            except ValueError as error:
                shown = "(hidden)" if name in _SECRET else repr(raw)
                called = label.format(name=name, variable=variable)
                raise SettingsError(f"{called} is {shown} in the {source}: {error}.") from None
            origins[name] = source
    return Settings(**values, origins=MappingProxyType(origins))


def read_env_file(path: Path) -> dict[str, str]:
    """Variables of a `.env` file: `NAME=value` lines, `#` comments, optional `export` and matching quotes.

    Raises SettingsError when the file cannot be read or a line is none of these.
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
    """An empty variable counts as not set, as shells and containers pass them."""
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
    """The tokens and keys that are set now: what may stand in no record. Nothing while the settings are unusable."""
    try:
        now = current()
    except SettingsError:
        return ()
    return tuple(value for name in sorted(_SECRET) if (value := getattr(now, name)))


_preferences: Mapping[str, Any] = MappingProxyType({})
_arguments: Mapping[str, Any] = MappingProxyType({})
_system_policy: Path | None = None


def set_preferences(preferences: Mapping[str, Any]) -> None:
    """Take over what the user chose; only the fields that were really changed belong in the mapping."""
    global _preferences
    _preferences = MappingProxyType(dict(preferences))


def set_arguments(arguments: Mapping[str, Any]) -> None:
    """Take over what the command line that started the server says."""
    global _arguments
    _arguments = MappingProxyType(dict(arguments))


def set_system_policy(path: Path) -> None:
    """Where a studio may put a policy file that nothing of the user's own overrides."""
    global _system_policy
    _system_policy = path


def current() -> Settings:
    """The settings as they are now. Cheap (about 20 µs): the environment is read at each call.

    Raises SettingsError as `load` does.
    """
    return load(
        environ=os.environ, preferences=_preferences, arguments=_arguments, system_policy=_system_policy
    )
