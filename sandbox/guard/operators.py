# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that check sizes before they make a huge value.

The transformer leaves plain `a + b` in a script wherever the types exclude a big result; the other operations arrive
here. Nothing is computed before its size is known: once C code multiplies, nothing can stop it.
"""

from __future__ import annotations

import array
import collections
import operator
from collections.abc import Callable
from typing import Any, Final

from ..language import hooks
from ..language.builtin_methods import TABLE_TYPES
from .meter import Meter
from .reentry import calls_anything, may_call_scripts
from .values import long_text, membership
from .values.bounds import known_bounds
from .values.fractions import Fraction
from .values.plain import SCALAR_TYPES, SIMPLE_TYPES
from .values.room import IN_CONTAINERS, IN_PYTHON, room_for_calls
from .values.sets import Sets
from .values.weight import TooHeavy, has_containers, weigh
from .values.widths import check_fields, named_values

__all__ = ("Operators",)

SEQUENCES: Final = (str, list, tuple, bytes, bytearray, collections.deque, array.array)

Binary = Callable[[Any, Any], Any]


class Operators:
    """Guarded operators for one run."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.limits = meter.limits
        self.sets = Sets()
        self.real: Callable[[Any], Any] = lambda value: value
        """The type behind its facade in scripts."""
        self._arrays: frozenset[type] = frozenset()
        self._numbers: frozenset[type] = frozenset()
        self._vectors: frozenset[type] = frozenset()
        """Types of Blender's vectors and matrices."""
        self._single = _NUMBERS
        """Types of single numbers, Python's and numpy's."""
        self._native = _NUMBERS
        """Types of numbers, Python's and numpy's, and of vectors: two of them give nothing larger than themselves."""
        self._of_arrays: Callable[..., Any]
        self._watched: Callable[..., Any]

    def watch_arrays(
        self, kind: type, numbers: set[type], compute: Callable[..., Any], watched: Callable[..., Any]
    ) -> None:
        """Check operands of numpy's.

        Args:
            kind: the type of arrays; `compute(sign, function, *operands)` checks operands, one of which is an array,
                and returns `function(*operands)`.
            numbers: the types of single numbers.
            watched: `watched(levels, function, *operands)` returns `function(*operands)`, and limits its arrays.
        """
        self._arrays = frozenset({kind})
        self._numbers = frozenset(numbers)
        self._single = _NUMBERS | self._numbers
        self._native |= self._numbers
        self._of_arrays = compute
        self._watched = watched

    def compute_natively(self, kinds: set[type]) -> None:
        """Check no operands if both are of these types or numbers: two of them give nothing larger than themselves."""
        self._native |= kinds
        self._vectors = frozenset(kinds)

    def _natively(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Return `function(*operands)`; none is an array, but numpy makes an array of a list beside its own number."""
        if self._numbers and not self._numbers.isdisjoint(map(type, operands)):
            rows = [each for each in operands if isinstance(each, list | tuple)]
            if rows:
                self.weight(rows)
                return self._watched(IN_CONTAINERS, function, *operands)
        if not self._vectors.isdisjoint(map(type, operands)):
            return _by_blender(function, *operands)
        return function(*operands)

    def room_for_text(self) -> None:
        """Raise RecursionError if numpy, which a script uses, could no longer make text of an array."""
        if self._arrays:
            room_for_calls(IN_PYTHON)

    def of_any(self, sign: str, function: Callable[..., Any], *operands: Any) -> Any:
        """Return `function(*operands)`, checked if one of them is an array."""
        if self._native.issuperset(map(type, operands)):
            return function(*operands)
        if not self._arrays.isdisjoint(map(type, operands)):
            return self._of_arrays(sign, function, *operands)
        return self._natively(function, *operands)

    def table(self) -> dict[str, object]:
        """Return the hooks by name."""
        result: dict[str, object] = {}
        for sign, plain, in_place in _PLAIN:
            result[hooks.OPERATOR.format(sign)] = self._checked(sign, plain)
            result[hooks.OPERATOR.format(sign + "=")] = self._checked(sign, in_place, changes=True)
        special = {"+": self.add, "+=": self.add_in_place, "*": self.multiply, "*=": self.multiply_in_place}
        special |= {"%": self.modulo, "%=": self.modulo_in_place, "**": self.power, "**=": self.power}
        special |= {"<<": self.shift, "<<=": self.shift}
        result |= {hooks.OPERATOR.format(sign): function for sign, function in special.items()}
        result |= {hooks.OPERATOR.format(sign): self._signed(sign, plain) for sign, plain in _SIGNED}
        result[hooks.COMPARE] = self.compare
        result[hooks.CHAIN] = self.chain
        return result

    def _signed(self, sign: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def signed(value: Any) -> Any:
            return self.of_any(sign, function, value)

        return signed

    def _checked(self, sign: str, function: Binary, *, changes: bool = False) -> Binary:
        of_tables, of_types = sign in _OF_TABLES, sign == "|"

        def checked(left: Any, right: Any) -> Any:
            kinds = (type(left), type(right))
            if self._native.issuperset(kinds):
                return function(left, right)
            if not self._arrays.isdisjoint(kinds):
                return self._of_arrays(sign, function, left, right)
            if Fraction in kinds:
                self.bits(_bits(left) + _bits(right))
            elif of_tables and self._weigh_tables(left, right) == 2:
                if isinstance(left, set) and type(left) is not set:
                    return function(left, right)  # the base of the script's class notes both
                sets = [each for each in (left, right) if isinstance(each, set)]
                changed = left if changes and type(left) is set else None
                return self.sets.use(sets, function, left, right, changed=changed)
            elif of_types:  # `int | None`
                left, right = self.real(left), self.real(right)
            return self._natively(function, left, right)

        return checked

    def _weigh_tables(self, left: Any, right: Any) -> int:
        """Weigh sets and views of dicts: values with equal hashes are compared. Return how many there are."""
        tables: list[Any] = [each for each in (left, right) if isinstance(each, TABLE_TYPES)]
        for table in tables:
            if isinstance(table, dict) or not SCALAR_TYPES.issuperset(map(type, table)):
                self.weight(table)
        return len(tables)

    # Sizes

    def length(self, count: int, what: str = "value") -> None:
        """Stop the run if a sequence would have more than the limit's items or characters."""
        if count > self.limits.sequence:
            self.meter.exceed(
                f"a {what} of {count:,} items or characters is over the limit of {self.limits.sequence:,}",
                limit="sequence",
            )

    def growing(self, value: Any, items: Any, *, key: slice | None = None) -> Any:
        """Return what `value` is about to take from `items`: natively it would be one call that nothing can stop.

        `key`: the part of `value` that is replaced. Items without a length, or with a length that a script's class
        computes, are read first: an iterator of the list that grows would never end. Stops the run above the limit.
        """
        if not isinstance(items, _SIZED):
            items = list(items)
        length = _length(value)
        self.length(length - (0 if key is None else len(range(*key.indices(length)))) + _length(items))
        return items

    def sliced(self, value: Any, key: slice, new: Any) -> tuple[slice, Any]:
        """Return the key and the items for `value[key] = new`, where `value` may be a sequence that grows."""
        if not isinstance(value, _SLICED):
            return key, new
        key = known_bounds(key)
        if type(value) is list and type(new) in _ROWS and len(value) + len(new) <= self.limits.sequence:
            return key, new  # however much of the list is replaced
        return key, self.growing(value, new, key=key)

    def set_slice(self, value: Any, key: slice, new: Any) -> None:
        """Set `value[key] = new` for a slice, checked."""
        if type(value).__setitem__ in _SETTING:
            key, new = self.sliced(value, key, new)
            value[key] = new
        else:
            _by_blender(operator.setitem, value, key, new)

    def bits(self, count: int) -> None:
        """Stop the run if an integer would be too long."""
        if count > self.limits.integer_bits:
            self.meter.exceed(
                f"an integer of about {count:,} bits is over the limit of {self.limits.integer_bits:,}: use floats",
                limit="integer",
            )

    def weight(self, value: object, *, shown: bool = False) -> int:
        """Return how much `value` unfolds to; stop the run above the limit. `shown`: as text."""
        try:
            return weigh(value, self.limits.sequence, shown=shown)
        except TooHeavy:
            self.meter.exceed(
                f"a value unfolds to more than {self.limits.sequence:,} parts, or is nested too deeply",
                limit="sequence",
            )

    # Arithmetic

    def add(self, left: Any, right: Any) -> Any:
        """Return `left + right`, checked."""
        if type(left) in self._arrays or type(right) in self._arrays:
            return self._of_arrays("+", operator.add, left, right)
        if type(left) in SIMPLE_TYPES or self._native.issuperset((type(left), type(right))):
            return left + right
        if isinstance(left, SEQUENCES) and isinstance(right, SEQUENCES):
            self.length(_length(left) + _length(right))
        elif type(left) is Fraction or type(right) is Fraction:
            self.bits(_bits(left) + _bits(right))
        return self._natively(operator.add, left, right)

    def add_in_place(self, left: Any, right: Any) -> Any:
        """Return `left += right`, checked."""
        if type(left) in SIMPLE_TYPES or type(left) in self._numbers:
            return self.add(left, right)
        if self._native.issuperset((type(left), type(right))):
            left += right
            return left
        if type(left) in self._arrays or type(right) in self._arrays:
            return self._of_arrays("+", operator.iadd, left, right)
        if isinstance(left, SEQUENCES):
            if isinstance(right, SEQUENCES):
                self.length(_length(left) + _length(right))
            elif getattr(type(left), "__iadd__", None) in _ADDING:
                right = self.growing(left, right)
        elif type(left) is Fraction or type(right) is Fraction:
            self.bits(_bits(left) + _bits(right))
        return self._natively(operator.iadd, left, right)

    def multiply(self, left: Any, right: Any) -> Any:
        """Return `left * right`, checked."""
        kind = type(left)
        if kind is int and type(right) is int:
            if not (-_SMALL < left < _SMALL and -_SMALL < right < _SMALL):
                self.bits(left.bit_length() + right.bit_length())
            return left * right
        if kind in self._arrays or type(right) in self._arrays:
            return self._of_arrays("*", operator.mul, left, right)
        if kind is not float and type(right) is not float:
            if self._native.issuperset((kind, type(right))):
                return left * right
            left, right = self._factors(left, right)
        return self._natively(operator.mul, left, right)

    def multiply_in_place(self, left: Any, right: Any) -> Any:
        """Return `left *= right`, checked."""
        if type(left) in SIMPLE_TYPES or type(left) in self._numbers:
            return self.multiply(left, right)
        if self._native.issuperset((type(left), type(right))):
            left *= right
            return left
        if type(left) in self._arrays or type(right) in self._arrays:
            return self._of_arrays("*", operator.imul, left, right)
        left, right = self._factors(left, right)
        return self._natively(operator.imul, left, right)

    def _factors(self, left: Any, right: Any) -> tuple[Any, Any]:
        """Return both factors if the product is small; the count for a sequence as the int that it is now."""
        if isinstance(left, SEQUENCES) and hasattr(type(right), "__index__"):
            right = operator.index(right)
            self.length(_length(left) * right)
        elif isinstance(right, SEQUENCES) and hasattr(type(left), "__index__"):
            left = operator.index(left)
            self.length(_length(right) * left)
        elif isinstance(left, int | Fraction) and isinstance(right, int | Fraction):
            self.bits(_bits(left) + _bits(right))
        return left, right

    def modulo(self, left: Any, right: Any) -> Any:
        """Return `left % right`, checked; it also formats text."""
        if isinstance(left, str | bytes):
            right = named_values(left, right)
            self.percent(left, right)
            self.room_for_text()
            return left % right
        return self.of_any("%", operator.mod, left, right)

    def modulo_in_place(self, left: Any, right: Any) -> Any:
        """Return `left %= right`, checked."""
        if isinstance(left, str | bytes):
            return self.modulo(left, right)
        return self.of_any("%", operator.imod, left, right)

    def power(self, left: Any, right: Any, modulus: Any = None) -> Any:
        """Return `left ** right`, or `pow(left, right, modulus)`, checked."""
        if modulus is None and (type(left) is float or type(right) is float):
            if self._native.issuperset((type(left), type(right))):
                return left**right
            return self.of_any("**", operator.pow, left, right)
        if modulus is not None:
            work = _bits(right) * _bits(modulus) ** 2
            if not isinstance(left, int) or work > _MODULAR_WORK:
                self.bits(max(work, self.limits.integer_bits + 1))
            return pow(left, right, modulus)
        if isinstance(right, Fraction) and right.denominator == 1:
            right = right.numerator  # as Fraction itself would do
        if isinstance(left, int | Fraction) and isinstance(right, int):
            if type(right) not in (int, bool) or type(left) not in (int, bool, Fraction):
                left, right = int(left) if isinstance(left, int) else left, int(right)
            size = max(_bits(left) - (1 if left in (1, -1) else 0), 0)
            self.bits(size * abs(right))
            return left**right
        return self.of_any("**", operator.pow, left, right)

    def shift(self, left: Any, right: Any) -> Any:
        """Return `left << right`, checked."""
        if isinstance(left, int) and isinstance(right, int):
            left, right = int(left), int(right)
            if left and right > 0:
                self.bits(left.bit_length() + right)
            return left << right
        return self.of_any("<<", operator.lshift, left, right)

    # Comparison

    def compare(self, sign: str, left: Any, right: Any) -> Any:
        """Return `left == right` and the like, or `left in right`, checked."""
        if self._native.issuperset((type(left), type(right))):
            return _COMPARE[sign](left, right)
        if type(left) in self._arrays or type(right) in self._arrays:
            return self._of_arrays(sign, _COMPARE[sign], left, right)
        if sign in ("in", "not in"):
            right = self.searched(left, right)
        if has_containers(left) and has_containers(right):
            if sign in ("in", "not in") and hasattr(type(right), "__len__"):
                self.compare_weight(left, len(right))
            else:
                self.weight(left)
            if self._arrays and self._numbers.isdisjoint(map(type, (left, right))):  # arrays may be in both
                return self._watched(IN_CONTAINERS, _COMPARE[sign], left, right)
        return self._natively(_COMPARE[sign], left, right)

    def chain(self, signs: tuple[str, ...], left: Any, *operands: Any) -> Any:
        """Return `a < b <= c`, checked."""
        result: Any = True
        for sign, right in zip(signs, operands, strict=True):
            result = self.compare(sign, left, right)
            if not result:
                return result
            left = right
        return result

    def compare_weight(self, value: object, times: int) -> None:
        """Check the comparison of `value` with each of so many others."""
        if has_containers(value):
            self.length(self.weight(value) * times // 10, "comparison")

    def sortable(self, items: Any) -> None:
        """Check how much a sort of these items compares."""
        kinds = set(map(type, items))
        if not (SCALAR_TYPES.issuperset(kinds) or self._single.issuperset(kinds)):
            self.weight(list(items))
        elif not long_text.TEXTS.isdisjoint(kinds):
            self.length(long_text.characters(items), "comparison")

    def searched(self, value: Any, items: Any) -> Any:
        """Return `items`, in which `value` is searched, after a check of how many characters are compared."""
        items, count = long_text.searched(value, items)
        self.length(count, "comparison")
        return items

    # Text

    def percent(self, template: str | bytes, values: Any) -> None:
        """Check the widths of `template % values`, and how much its values unfold to."""
        fields = check_fields(self.meter, template, values)
        self.length(len(template) + fields * self.weight(values, shown=True), "text")


@calls_anything
def _by_blender(function: Callable[..., Any], *operands: Any) -> Any:
    """Return `function(*operands)`, where Blender's code does the work and no method of a script may run meanwhile."""
    return function(*operands)


_NUMBERS: Final = frozenset({int, float, bool, complex})
_ROWS: Final = frozenset({list, tuple})
_SLICED: Final = (list, bytearray, array.array)
"""Sequences that become longer by assigning to a slice."""
_SETTING: Final = frozenset(kind.__setitem__ for kind in _SLICED)
_ADDING: Final = frozenset(kind.__iadd__ for kind in (list, bytearray, array.array, collections.deque))
"""Python's own `+=` of sequences that grow in place, which reads from any iterable."""
_SIZED: Final[tuple[type, ...]] = (
    *(*SEQUENCES, dict, set, frozenset, range),
    *(type({}.keys()), type({}.values()), type({}.items())),
)
_OF_TABLES: Final = frozenset("-&|^")
_SMALL: Final = 1 << 64
_MODULAR_WORK: Final = 1 << 36
_PLAIN: Final[tuple[tuple[str, Binary, Binary], ...]] = (
    ("-", operator.sub, operator.isub),
    ("/", operator.truediv, operator.itruediv),
    ("//", operator.floordiv, operator.ifloordiv),
    ("@", operator.matmul, operator.imatmul),
    ("&", operator.and_, operator.iand),
    ("|", operator.or_, operator.ior),
    ("^", operator.xor, operator.ixor),
    (">>", operator.rshift, operator.irshift),
)
_SIGNED: Final[tuple[tuple[str, Callable[[Any], Any]], ...]] = (
    ("-x", operator.neg),
    ("+x", operator.pos),
    ("~x", operator.invert),
)
_COMPARE: Final[dict[str, Binary]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": membership.contains,
    "not in": membership.lacks,
}


def _bits(value: Any) -> int:
    if isinstance(value, int):
        return int(value).bit_length()
    return value.numerator.bit_length() + value.denominator.bit_length() if isinstance(value, Fraction) else 0


def _length(value: Any) -> int:
    """Return the true length: a class of the script may return anything from `__len__`."""
    if type(value) in _SIZED:
        return len(value)
    base: Any = next(base for base in _SIZED if isinstance(value, base))
    length: int = base.__len__(value)
    return length


may_call_scripts(globals())
