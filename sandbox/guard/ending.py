# SPDX-License-Identifier: GPL-3.0-or-later
"""How a script ends itself: `exit()`, `sys.exit()`, `raise SystemExit`.

Nobody may raise Python's own SystemExit in Blender: C code that shows an error quits the program when it meets one.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from .facade import Sealed, seal

__all__ = ("EXIT", "ScriptExit", "code_of", "ended_well", "failed")


class SystemExit(BaseException, metaclass=Sealed):  # noqa: A001 - a script sees Python's name
    """Ends the script. Scripts may raise and catch it; `except Exception` does not catch it, as in Python."""


ScriptExit = SystemExit
"""The script's SystemExit, under a name that tells it from Python's own."""


def code_of(ending: ScriptExit) -> Any:
    """Return the argument of `exit(code)`, None if there is none."""
    return ending.args[0] if ending.args else None


def _exit(code: Any = None) -> NoReturn:
    raise ScriptExit(code)


EXIT: Final = seal(_exit)
"""The function behind `exit`, `quit` and `sys.exit`."""


def ended_well(ending: ScriptExit) -> bool:
    """Return whether a script ended with success: without a code, or with 0."""
    code = code_of(ending)
    return code is None or (type(code) in (int, bool) and code == 0)


def failed(ending: ScriptExit) -> Exception:
    """Return the error of a script that ended itself without success."""
    kind = type("SystemExit", (Exception,), {})
    return kind(*ending.args)  # type: ignore[no-any-return]
