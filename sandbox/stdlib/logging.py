# SPDX-License-Identifier: GPL-3.0-or-later
"""`logging` for scripts: prints records as the script's output. Blender's own loggers do not see them."""

from __future__ import annotations

from typing import Any, Final

from ..guard.facade import Facade, hide
from ..guard.seam import Guard

__all__ = ("Logger", "logging_members")

_LEVELS: Final = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
_BY_NUMBER: Final = {number: name for name, number in _LEVELS.items()}
_FORMAT: Final = "%(levelname)s:%(name)s:%(message)s"


class _Log:
    """The loggers of one run."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.levels: dict[str, int] = {"root": _LEVELS["WARNING"]}
        self.loggers: dict[str, Logger] = {}
        self.format = _FORMAT

    def logger(self, name: Any = None) -> Logger:
        """Return the logger of this name, as `logging.getLogger(name)` does."""
        known = name if type(name) is str and name else "root"
        if known not in self.loggers:
            self.guard.operators.length(len(self.loggers) * 10_000)
            self.loggers[known] = Logger(self, known)
        return self.loggers[known]

    def threshold(self, name: str) -> int:
        """Return the lowest level that a logger prints: its own, or that of its nearest parent with a level."""
        while name not in self.levels or not self.levels[name]:
            name = name.rpartition(".")[0] or "root"
            if name == "root":
                return self.levels["root"]
        return self.levels[name]

    def write(self, name: str, level: int, message: Any, values: tuple[Any, ...]) -> None:
        """Print a record if the logger's level allows it."""
        if level < self.threshold(name):
            return
        guard = self.guard
        text = guard.text.show(message)
        if values:
            text = guard.operators.modulo(
                text, values[0] if len(values) == 1 and type(values[0]) is dict else values
            )
        fields = {"levelname": _BY_NUMBER.get(level, f"Level {level}"), "name": name, "message": text}
        guard.operators.length(self.format.count("%(") * sum(map(len, fields.values())), "text")
        line = self.format
        for field, value in fields.items():
            line = line.replace(f"%({field})s", value)
        guard.text.print(line)

    def configure(self, level: Any = None, format: Any = None, **_options: Any) -> None:  # noqa: A002
        """Set the root's level and the format, as `logging.basicConfig` does; leave out fields that scripts lack."""
        if level is not None:
            self.levels["root"] = _level(level)
        if format is not None:
            self.format = (
                _FORMAT
                if "%(message)s" not in format or len(format) > 1000
                else _without_unknown_fields(format)
            )


def _without_unknown_fields(template: str) -> str:
    """Return a format without fields that a script's records do not have: times, files, threads."""
    parts = template.split("%(")
    kept = [parts[0]]
    for part in parts[1:]:
        field, closing, rest = part.partition(")")
        if closing and field in ("levelname", "name", "message"):
            kept.append(f"%({field})s{rest.lstrip('-0123456789')[1:]}")
        elif closing:
            kept.append(rest.lstrip("-0123456789.")[1:].lstrip(" -:[]"))
    return "".join(kept)


def _level(level: Any) -> int:
    if type(level) is str and level in _LEVELS:
        return _LEVELS[level]
    if type(level) is int:
        return level
    raise ValueError("Unknown level: use logging.INFO, or 'INFO'")


class Logger(Facade):
    """The logger that `logging.getLogger(name)` returns."""

    __slots__ = ("log_of", "named")

    def __init__(self, log: _Log, name: str) -> None:
        _set_log(self, log)
        _set_name(self, name)

    @property
    def name(self) -> str:
        """The logger's name."""
        return str(_name(self))

    @property
    def level(self) -> int:
        """The logger's own level, 0 if it has none."""
        return int(_log(self).levels.get(_name(self), 0))

    @property
    def handlers(self) -> list[Any]:
        """An empty list: a logger prints its records itself."""
        return []

    def setLevel(self, level: Any) -> None:  # noqa: N802
        """Set the logger's own level."""
        _log(self).levels[_name(self)] = _level(level)

    def isEnabledFor(self, level: Any) -> bool:  # noqa: N802
        """Return whether the logger prints a record of this level."""
        return bool(_level(level) >= _log(self).threshold(_name(self)))

    def getEffectiveLevel(self) -> int:  # noqa: N802
        """Return the lowest level that the logger prints."""
        return int(_log(self).threshold(_name(self)))

    def hasHandlers(self) -> bool:  # noqa: N802
        """Return True: the logger prints its records."""
        return True

    def addHandler(self, *_handler: Any) -> None:  # noqa: N802
        """Do nothing: the logger prints its records itself."""

    removeHandler = addFilter = addHandler  # noqa: N815

    def log(self, level: Any, message: Any, *values: Any, **_options: Any) -> None:
        """Print a record of this level."""
        _log(self).write(_name(self), _level(level), message, values)

    def debug(self, message: Any, *values: Any, **_options: Any) -> None:
        """Print a record of level 10, DEBUG."""
        self.log(10, message, *values)

    def info(self, message: Any, *values: Any, **_options: Any) -> None:
        """Print a record of level 20, INFO."""
        self.log(20, message, *values)

    def warning(self, message: Any, *values: Any, **_options: Any) -> None:
        """Print a record of level 30, WARNING."""
        self.log(30, message, *values)

    warn = warning

    def error(self, message: Any, *values: Any, **_options: Any) -> None:
        """Print a record of level 40, ERROR."""
        self.log(40, message, *values)

    exception = error

    def critical(self, message: Any, *values: Any, **_options: Any) -> None:
        """Print a record of level 50, CRITICAL."""
        self.log(50, message, *values)

    fatal = critical


_log, _set_log = hide(Logger, "log_of")
_name, _set_name = hide(Logger, "named")


class Handler(Facade):
    """A handler or formatter that does nothing: the loggers print their records themselves."""

    __slots__ = ()

    def setLevel(self, *_level: Any) -> None:  # noqa: N802
        """Do nothing."""

    setFormatter = addFilter = setLevel  # noqa: N815


def logging_members(guard: Guard) -> dict[str, object]:
    """Return the members of `logging`, for one run."""
    log = _Log(guard)
    root = log.logger()
    handler = Handler()

    def handle(*_arguments: Any, **_options: Any) -> Handler:
        return handler

    def disable(level: Any = 50) -> None:
        log.levels["root"] = _level(level) + 1

    functions = ("debug", "info", "warning", "warn", "error", "exception", "critical", "log")
    return {
        **_LEVELS,
        "NOTSET": 0,
        "WARN": 30,
        "FATAL": 50,
        **{name: getattr(root, name) for name in functions},
        **dict.fromkeys(("StreamHandler", "NullHandler", "Formatter", "Handler"), handle),
        "Logger": guard.builtins.add_facade(log.logger, Logger),
        "basicConfig": log.configure,
        "disable": disable,
        "getLevelName": lambda level: (
            _BY_NUMBER.get(level, f"Level {level}") if type(level) is int else level
        ),
        "getLogger": log.logger,
    }
