# SPDX-License-Identifier: GPL-3.0-or-later
"""Which names a script may use, and what to do instead of a refused one."""

from __future__ import annotations

import enum
import re
from typing import Final

__all__ = (
    "CLASS_DUNDERS",
    "CONSTANTS",
    "READABLE_DUNDERS",
    "SUPER_DUNDERS",
    "attribute_problem",
    "is_dunder",
    "is_private",
    "name_problem",
)

RESTRICTEDPYTHON_HOOKS: Final = frozenset(
    {
        "_getattr_",
        "_getitem_",
        "_getiter_",
        "_write_",
        "_apply_",
        "_inplacevar_",
        "_print_",
        "_print",
        "__metaclass__",
    }
    | {"_unpack_sequence_", "_iter_unpack_sequence_", "__import__", "__builtins__", "_call_print"}
)
_TEMPORARY: Final = re.compile(r"_tmp\d+")
_MANGLED: Final = re.compile(r"_[^\W_]\w*?__\w*(?<!__)")
"""The name that Python makes of a private `__name` in a class: written out, one variable would have two names."""

MISSING: Final[dict[str, str]] = {
    "__import__": "write an import statement",
    "BaseException": "catch Exception",
    "BaseExceptionGroup": "exception groups are not supported: catch Exception",
    "ExceptionGroup": "exception groups are not supported: catch Exception",
    "GeneratorExit": "use try/finally in the generator",
    "KeyboardInterrupt": "catch Exception",
    "aiter": "async code is not supported",
    "anext": "async code is not supported",
    "breakpoint": "print() what you want to see",
    "compile": "write the code in the script itself",
    "copyright": "it is not part of the language",
    "credits": "it is not part of the language",
    "eval": "write the expression in the script itself; for numbers in text use float() or int()",
    "exec": "write the code in the script itself",
    "help": "call the tool inspect_tool",
    "input": "ask the user in the conversation",
    "license": "it is not part of the language",
    "locals": "use the variables by name, or keep values in a dict of your own",
    "memoryview": "use bytes or a list",
}
"""Builtins that scripts lack (unless they bind such a name themselves), and what to do instead."""

CONSTANTS: Final[dict[str, object]] = {
    "__name__": "__main__",
    "__file__": "/script.py",
    "__doc__": None,
    "__package__": None,
    "__spec__": None,
}
"""Variables that Python sets in each script, with the values that the transformer writes into it."""

_ABOUT: Final = frozenset(
    """
    __all__ __author__ __authors__ __contact__ __copyright__ __credits__ __date__ __description__ __email__
    __license__ __maintainer__ __status__ __title__ __url__ __version__
    """.split()
)
"""Variables with which a script describes itself; they mean nothing to Python."""

_INSPECTION: Final = re.compile(
    r"(tb_(frame|next|lasti|lineno)|f_(back|builtins|code|generator|globals|lasti|lineno|locals|trace\w*)"
    r"|co_(argcount|branches|cellvars|code|consts|exceptiontable|filename|firstlineno|flags|freevars|linetable)"
    r"|co_(kwonlyargcount|lines|lnotab|names?|nlocals|positions|posonlyargcount|qualname|replace|stacksize|varnames)"
    r"|(gi|cr|ag)_(frame|running|suspended|state|code|yieldfrom|await|origin)"
    r"|func_(globals|code|closure|defaults|dict|name)|im_(func|self|class)|with_traceback|mro)"
)
_INSPECTED: Final = ("tb_", "f_", "co_", "gi_", "cr_", "ag_", "func_", "im_", "with_traceback", "mro")
"""The beginnings of the names that `_INSPECTION` matches."""

ENUM_INTERNALS: Final = frozenset(
    name
    for kind in (enum.EnumType, enum.IntFlag, enum.StrEnum)
    for base in type.mro(kind)
    for name in vars(base)
    if name.startswith("_") and name.endswith("_") and not name.startswith("__")
) - {"_generate_next_value_", "_ignore_", "_missing_", "_name_", "_order_", "_value_"}
"""Attributes that Python's enums keep in their classes, among them the plain types behind them, unguarded."""

READABLE_DUNDERS: Final = frozenset(
    {"__class__", "__doc__", "__name__", "__qualname__", "__members__", "__init__"}
)
"""Dunder attributes that scripts may read; the value's type decides what each returns (`guards.special`)."""

CLASS_DUNDERS: Final = frozenset(
    """
    __init__ __post_init__ __repr__ __str__ __format__ __bool__ __hash__ __call__ __len__ __length_hint__
    __iter__ __next__ __reversed__ __contains__ __getitem__ __setitem__ __delitem__ __missing__
    __enter__ __exit__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__
    __add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __divmod__ __pow__ __matmul__
    __lshift__ __rshift__ __and__ __or__ __xor__
    __radd__ __rsub__ __rmul__ __rtruediv__ __rfloordiv__ __rmod__ __rdivmod__ __rpow__ __rmatmul__
    __rlshift__ __rrshift__ __rand__ __ror__ __rxor__
    __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __imatmul__
    __ilshift__ __irshift__ __iand__ __ior__ __ixor__
    __neg__ __pos__ __abs__ __invert__ __int__ __float__ __complex__ __index__ __round__ __trunc__ __floor__
    __ceil__
    """.split()
)
"""Methods of the data model that a class of a script may define."""

CLASS_VARIABLES: Final = frozenset({"__slots__", "__hash__", "__match_args__"})
"""Dunder names that a class body may assign."""

SUPER_DUNDERS: Final = frozenset(
    """
    __init__ __post_init__ __repr__ __str__ __bool__ __hash__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __len__
    __iter__ __next__ __contains__ __getitem__ __setitem__ __delitem__ __enter__ __exit__
    """.split()
)
"""Dunder methods that `super()` may return, besides ordinary names."""


def is_dunder(name: str) -> bool:
    """Return whether a name has the form `__name__`."""
    return name.startswith("__") and name.endswith("__") and len(name) > 4


def is_private(name: str) -> bool:
    """Return whether a name has the form `__name`, into which Python writes the class's name inside a class."""
    return name.startswith("__") and not name.endswith("__")


def name_problem(name: str) -> str | None:
    """Return what is wrong with binding or reading a variable `name`, None if nothing."""
    if name in RESTRICTEDPYTHON_HOOKS or _TEMPORARY.fullmatch(name):
        return "the name belongs to the sandbox: use another"
    if is_dunder(name) and name not in _ABOUT:
        return "names that begin and end with two underscores belong to Python: use another"
    if _MANGLED.fullmatch(name):
        return "it looks like what Python makes of a private name in a class: use one underscore inside"
    return None


def attribute_problem(name: str) -> str | None:
    """Return what is wrong with an attribute `name`, whatever it belongs to; None if nothing."""
    if name.startswith(_INSPECTED) and _INSPECTION.fullmatch(name):
        return "frames, code objects and tracebacks are out of a script's reach"
    if name in RESTRICTEDPYTHON_HOOKS:
        return "the name belongs to the sandbox: use another"
    if name in ENUM_INTERNALS:
        return "it belongs to Python's enums: use .name and .value"
    if is_dunder(name) and name not in READABLE_DUNDERS:
        return _INSTEAD.get(name, "Python's internals are out of a script's reach")
    return None


_INSTEAD: Final[dict[str, str]] = {
    "__dict__": "use vars(value) to read it, and setattr() or value.__dict__.update(…) to change it",
    "__len__": "write len(value)",
    "__getitem__": "write value[key]",
    "__setitem__": "write value[key] = new",
    "__iter__": "write iter(value)",
    "__next__": "write next(value)",
    "__str__": "write str(value)",
    "__repr__": "write repr(value)",
    "__annotations__": "use dataclasses.fields()",
    "__file__": "a script has no files; what a module can do is in dir(module)",
    "__version__": "it is not part of the language",
}
