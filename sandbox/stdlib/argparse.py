# SPDX-License-Identifier: GPL-3.0-or-later
"""`argparse` for scripts. A script has no command line, so each argument gets its default value.

A parser only notes the arguments that a script adds. `parse_args()` returns an instance of a class of the script's
own.
"""

from __future__ import annotations

from typing import Any, Final

from ..guard.ending import EXIT
from ..guard.facade import Facade, hide
from ..guard.seam import Guard

__all__ = ("Parser", "argparse_members")

_SUPPRESS: Final = "==SUPPRESS=="
_DEFAULTS: Final[dict[Any, Any]] = {"store_true": False, "store_false": True}


class _ArgumentList:
    """The arguments of a parser and its groups: defaults, types and required names."""

    def __init__(self, guard: Guard, namespace: type) -> None:
        self.guard = guard
        self.namespace = namespace
        self.defaults: dict[str, Any] = {}
        self.types: dict[str, Any] = {}
        self.required: list[str] = []

    def add(self, flags: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Note one argument of the parser."""
        if not all(type(flag) is str for flag in flags) or not (flags or "dest" in options):
            raise TypeError("add_argument() takes the names of one argument as texts")
        action = options.get("action")
        if action in ("help", "version"):
            return
        positional = bool(flags) and not flags[0].startswith("-")
        dest = options.get("dest") or _dest(flags)
        self.guard.meter.tick()
        self.guard.builtins.setattr(self.namespace(), dest, None)  # refuses names that no attribute may have
        optional = options.get("nargs") in ("?", "*")
        if options.get("required") or (positional and not optional):
            self.required.append(flags[0] if positional else "/".join(flags))
        default = options.get("default", _DEFAULTS.get(action) if type(action) is str else None)
        if default is None and positional and options.get("nargs") == "*":
            default = []
        if default != _SUPPRESS if type(default) is str else True:
            self.defaults.setdefault(dest, default)
            self.types[dest] = options.get("type")

    def parsed(self, texts: Any, namespace: Any) -> Any:
        """Return a namespace with the default of each argument; refuse texts to parse."""
        if texts is not None and len(texts):
            self.guard.meter.refuse(
                "argparse: a script is given no arguments, and parses none: set the values in the script",
                code="attribute",
            )
        if self.required:
            self.fail(f"the following arguments are required: {', '.join(self.required)}")
        result = self.namespace() if namespace is None else namespace
        for name, value in self.defaults.items():
            convert = self.types.get(name)
            self.guard.builtins.setattr(
                result, name, convert(value) if type(value) is str and convert is not None else value
            )
        return result

    def fail(self, message: Any) -> Any:
        """Print the error and end the script, as Python's argparse does for wrong arguments."""
        self.guard.text.print("error: ", message, sep="")
        EXIT(2)


def _dest(flags: tuple[str, ...]) -> str:
    long = next((flag for flag in flags if flag.startswith("--")), flags[0])
    return long.lstrip("-").replace("-", "_")


class Parser(Facade):
    """The script's view of `argparse.ArgumentParser` and of its groups."""

    __slots__ = ("arguments",)

    def __init__(self, arguments: _ArgumentList) -> None:
        _set_arguments(self, arguments)

    def add_argument(self, *flags: Any, **options: Any) -> None:
        """Note one argument of the parser."""
        _arguments(self).add(flags, options)

    def add_argument_group(self, *_title: Any, **_options: Any) -> Parser:
        """Return the parser itself: the arguments of a group are the parser's."""
        return self

    add_mutually_exclusive_group = add_argument_group

    def set_defaults(self, **values: Any) -> None:
        """Set the defaults of arguments by name, as `parser.set_defaults(name=value)` does."""
        _arguments(self).defaults.update(values)

    def get_default(self, dest: Any) -> Any:
        """Return the default of an argument, as `parser.get_default(name)` does."""
        return _arguments(self).defaults.get(dest) if type(dest) is str else None

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return a namespace in which each argument has its default."""
        return _arguments(self).parsed(args, namespace)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Return the namespace of `parse_args`, and an empty list of unknown arguments."""
        return self.parse_args(args, namespace), []

    def error(self, message: Any) -> Any:
        """Print the error and end the script."""
        return _arguments(self).fail(message)

    def print_help(self, *_file: Any) -> None:
        """Print nothing: nobody reads the help of a script."""

    print_usage = print_help


_arguments, _set_arguments = hide(Parser, "arguments")


def argparse_members(guard: Guard) -> dict[str, object]:
    """Return the members of `argparse`, for one run."""
    namespace = guard.adopt(type("Namespace", (), {"__module__": "<script>"}))

    def ArgumentParser(*_arguments: Any, **_options: Any) -> Parser:  # noqa: N802
        return Parser(_ArgumentList(guard, namespace))

    def ignored(*_arguments: Any, **_options: Any) -> None:
        """Do nothing: a formatter only formats the help, which nobody reads."""

    return {
        "ArgumentParser": guard.builtins.add_facade(ArgumentParser, Parser),
        "Namespace": namespace,
        "SUPPRESS": _SUPPRESS,
        "REMAINDER": "...",
        "OPTIONAL": "?",
        "ZERO_OR_MORE": "*",
        "ONE_OR_MORE": "+",
        "ArgumentTypeError": ValueError,
        **dict.fromkeys(
            ("HelpFormatter", "RawTextHelpFormatter", "RawDescriptionHelpFormatter"), ignored
        ),
        "ArgumentDefaultsHelpFormatter": ignored,
    }  # fmt: skip
