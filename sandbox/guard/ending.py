# SPDX-License-Identifier: GPL-3.0-or-later
"""How a script ends itself: `exit()`, `sys.exit()`, `raise SystemExit`.

Python's own SystemExit may not be raised in Blender: C code that shows an error quits the program where it meets one.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from .facade import Sealed, seal

__all__ = ("EXIT", "ScriptExit", "code_of", "ended_well", "failed")


class SystemExit(BaseException, metaclass=Sealed):  # noqa: A001 - a script sees Python's name
    """Ends the script. Scripts may raise and catch it; `except Exception` lets it pass, as in Python."""


ScriptExit = SystemExit
"""The same under a name that says whose it is."""


def code_of(ending: ScriptExit) -> Any:
    """Return what `exit(code)` was given, None for nothing."""
    return ending.args[0] if ending.args else None


def _exit(code: Any = None) -> NoReturn:
    raise ScriptExit(code)


EXIT: Final = seal(_exit)
"""`exit`, `quit` and `sys.exit`."""


def ended_well(ending: ScriptExit) -> bool:
    """Return whether a script that ended so says that all went well: no code, or 0."""
    code = code_of(ending)
    return code is None or (type(code) in (int, bool) and code == 0)


def failed(ending: ScriptExit) -> Exception:
    """Return the error of a script that ended so although all did not go well."""
    kind = type("SystemExit", (Exception,), {})
    return kind(*ending.args)  # type: ignore[no-any-return]
