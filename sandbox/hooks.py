# SPDX-License-Identifier: GPL-3.0-or-later
"""The names by which a transformed script reaches its guards.

None of them can be written in Python source (`<` is no letter), so no script can bind, shadow, import or delete one;
the transformer refuses the hook names of RestrictedPython besides.
"""

from __future__ import annotations

RUNNING = "<running>"
"""bool: the run goes on. The only thing that a tick reads."""
STOP = "<stop>"
"""() -> raises the reason why the run does not go on."""
DEEPER = "<deeper>"
"""() -> True, or raises RecursionError: a call that Python counts, in functions whose own calls it does not."""
TYPE = "<type>"
"""The real `type`."""

SIMPLE = "<simple>"
"""set of types: numbers and small vectors, whose `+ - / // % & | ^ @` with anything make no big value."""
FLOATY = "<floaty>"
"""set of types: as SIMPLE for `*`, which leaves out int (int * list)."""
SCALAR = "<scalar>"
"""set of types whose values hold no others: cheap to compare, hash, and turn into text."""
ITEMS = "<items>"
"""set of types whose `value[key]` needs no guard."""
SET_ITEMS = "<set items>"
"""set of types whose `value[key] = …`, `del value[key]` and augmented assignment to an item need no guard."""
OWN = "<own>"
"""set of the classes that the script made."""

GETATTR = "<getattr>"
"""(value, name) -> guarded `value.name`."""
GETITEM = "<getitem>"
"""(value, key) -> guarded `value[key]`."""
WRITE = "<write>"
"""(value) -> something whose attributes and items can be set and deleted, guarded, as `value`'s."""
SPECIAL = "<special>"
"""(value, name) -> the few dunder attributes that scripts may read."""
SUPER = "<super>"
"""(super object, name) -> guarded attribute of `super()`."""
MODULES = "<modules>"
"""By dotted name the views of the modules that may be imported; others refuse."""
IMPORT = "<import>"
"""(dotted name) -> the view of the module that is its root."""
IMPORT_FROM = "<import from>"
"""(dotted name, member) -> a member of the view of a module."""
CLASS = "<class>"
"""The metaclass hook: checks bases and body, makes the class, remembers it as the script's own."""
FORMAT = "<format>"
"""(value, spec) -> guarded `format(value, spec)`."""
SHOW = "<show>"
"""(value) -> guarded `str(value)` for values that are not SCALAR."""
REPR = "<repr>"
"""(value) -> guarded `repr(value)`."""
COMPARE = "<compare>"
"""(operator name, left, right) -> guarded comparison."""
CHAIN = "<chain>"
"""(operator names, operand, operand, …) -> guarded chained comparison."""
SLICE = "<slice>"
"""The real `slice`."""
KEY = "<key>"
"""(value) -> value, once it is known that hashing it is no endless work."""
KEYS = "<keys>"
"""(iterable) -> the iterable, its items checked as KEY does."""
EXCEPTION = "<exception>"
"""The real `Exception`: what a bare `except` catches."""
FACADES = frozenset({"bytearray", "bytes", "dict", "frozenset", "int", "range", "set", "str"})
"""Builtin types that scripts see as guarded functions: their constructors can make big values, or hash many."""
BUILTIN_TYPES = FACADES | {"bool", "complex", "dict", "float", "frozenset", "list", "set", "tuple"}
"""Builtin types whose real class `TYPES` names."""
RAW = {name: f"<raw {name}>" for name in ("enumerate", "map", "reversed", "zip")}
"""Python's own iterators, for loops that tick by themselves."""
ITERATED = "<iterated>"
"""(value) -> what a loop draws from: of a collection of Blender's the items it has now."""
BORN = "<born>"
"""(generator) -> the generator, counted while it is alive."""
BODY = "<body>"
"""The inner function that a generator function becomes."""
ASK = "<ask>"
"""(builtin, arguments…) -> its result, by a call that the script's own classes answer (`asked`)."""
ISINSTANCE = "<isinstance>"
"""Python's own."""
TYPES = "<{} type>"
"""`TYPES.format('str')`: the real class behind a builtin that scripts see as a guarded function, for class patterns."""
OPERATOR = "<{}>"
"""`OPERATOR.format('*')` and `OPERATOR.format('*=')`: (left, right) -> guarded operation."""


def reads(name: str) -> str:
    """Name of the set of types whose attribute `name` needs no guard when read; filled as the script runs."""
    return f"<r:{name}>"


def writes(name: str) -> str:
    """Name of the set of types whose attribute `name` needs no guard when set, deleted or augmented (nor read)."""
    return f"<w:{name}>"
