# SPDX-License-Identifier: GPL-3.0-or-later
"""Fractions of whole numbers for scripts: Python's own keep their numbers in attributes that can be set."""

from __future__ import annotations

import fractions
import numbers
import operator
import re
from collections.abc import Callable
from typing import Any, Final

from ..facade import Facade, hide

__all__ = ("Fraction",)

_SHORT: Final = re.compile(r"\s*[-+]?[\d_]{0,400}(/[\d_]{1,400}|\.?[\d_]{0,400}([eE][-+]?\d{1,3})?)\s*")
_BINARY: Final = "add sub mul truediv floordiv mod"
_COMPARED: Final = "lt le gt ge"
_UNARY: Final = "neg pos abs"


class Fraction(Facade):
    """A fraction of whole numbers. The guards of operators check how large the results become."""

    __slots__ = ("real",)

    def __init__(self, numerator: Any = 0, denominator: Any = None) -> None:
        for part in (numerator, denominator):
            if isinstance(part, str) and not _SHORT.fullmatch(str(part)):
                raise ValueError("Fraction() takes a short number here")
        _set_real(self, fractions.Fraction(_plain(numerator), _plain(denominator)))

    @property
    def numerator(self) -> int:
        """The number above the line."""
        return int(_real(self).numerator)

    @property
    def denominator(self) -> int:
        """The number below the line, above 0."""
        return int(_real(self).denominator)

    def limit_denominator(self, max_denominator: int = 1_000_000) -> Fraction:
        """Return the nearest fraction whose denominator is at most `max_denominator`."""
        return _make(_real(self).limit_denominator(max_denominator))

    def as_integer_ratio(self) -> tuple[int, int]:
        """Return the numerator and the denominator."""
        return (self.numerator, self.denominator)

    def is_integer(self) -> bool:
        """Return whether the denominator is 1."""
        return self.denominator == 1

    def __pow__(self, exponent: Any) -> Any:
        return _result(_real(self) ** _plain(exponent))

    def __rpow__(self, base: Any) -> Any:
        return base ** (self.numerator if self.denominator == 1 else float(self))

    def __divmod__(self, other: Any) -> Any:
        return (self // other, self % other)

    def __eq__(self, other: object) -> Any:
        return _real(self) == _plain(other)

    def __hash__(self) -> int:
        return hash(_real(self))

    def __bool__(self) -> bool:
        return self.numerator != 0

    def __float__(self) -> float:
        return float(_real(self))

    def __int__(self) -> int:
        return int(_real(self))

    __trunc__ = __int__

    def __floor__(self) -> int:
        return _real(self).__floor__()  # type: ignore[no-any-return]

    def __ceil__(self) -> int:
        return _real(self).__ceil__()  # type: ignore[no-any-return]

    def __round__(self, digits: Any = None) -> Any:
        return _result(round(_real(self), digits))

    def __str__(self) -> str:
        return str(_real(self))

    def __repr__(self) -> str:
        return f"Fraction({self.numerator}, {self.denominator})"


_real, _set_real = hide(Fraction, "real")


def _plain(value: Any) -> Any:
    return _real(value) if type(value) is Fraction else value


def _make(value: fractions.Fraction) -> Fraction:
    made = Fraction.__new__(Fraction)
    _set_real(made, value)
    return made


def _result(value: Any) -> Any:
    return _make(value) if isinstance(value, fractions.Fraction) else value


def _binary(name: str, *, swapped: bool) -> Callable[[Fraction, Any], Any]:
    function = getattr(operator, name)

    def method(self: Fraction, other: Any) -> Any:
        other = _plain(other)
        if not isinstance(other, numbers.Number):
            return NotImplemented
        left, right = (other, _real(self)) if swapped else (_real(self), other)
        return _result(function(left, right))

    return method


def _unary(name: str) -> Callable[[Fraction], Fraction]:
    function = getattr(operator, name)
    return lambda self: _make(function(_real(self)))


for _name in _BINARY.split():
    setattr(Fraction, f"__{_name}__", _binary(_name, swapped=False))
    setattr(Fraction, f"__r{_name}__", _binary(_name, swapped=True))
for _name in _COMPARED.split():
    setattr(Fraction, f"__{_name}__", _binary(_name, swapped=False))
for _name in _UNARY.split():
    setattr(Fraction, f"__{_name}__", _unary(_name))
