# SPDX-License-Identifier: GPL-3.0-or-later
"""Curated modules: immutable views that hold allowed names one by one. A script never gets a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

__all__ = ("View",)


class View:
    """What `import name` gives: `members` as attributes, read natively and never written.

    `missing(name)` is called for a name that is not there; it may return a value, raise AttributeError as a module
    would, or refuse.
    """

    def __init__(
        self, name: str, members: Mapping[str, object], missing: Callable[[str], object] | None = None
    ) -> None:
        own = self.__dict__
        own.update(members)
        own["<name>"] = name
        own["<missing>"] = missing

    def __getattr__(self, name: str) -> Any:
        missing = self.__dict__["<missing>"]
        if missing is not None and not name.startswith("__"):
            return missing(name)
        raise AttributeError(f"module {self.__dict__['<name>']!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"module {self.__dict__['<name>']!r} is read-only")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"module {self.__dict__['<name>']!r} is read-only")

    def __dir__(self) -> list[str]:
        return sorted(name for name in self.__dict__ if not name.startswith(("<", "_")))

    def __repr__(self) -> str:
        return f"<module {self.__dict__['<name>']!r}>"
