# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the widths in `"%5d" % value` and in format specs: each may ask for a text of any length."""

from __future__ import annotations

import re
from typing import Any, Final

from ..meter import Meter
from ..reentry import may_call_scripts

__all__ = ("check_fields", "check_spec")

_WIDEST: Final = 10_000
"""Widest field and longest precision of a formatted number or text."""
_LONGEST_SPEC: Final = 1_000
"""Longest format spec, in characters."""
_PERCENT: Final = re.compile(r"%(?:\(([^)]*)\))?[-#0 +]*(\*|\d+)?(?:\.(\*|\d+))?[hlL]?(.)", re.DOTALL)
_AS_HELD: Final = frozenset({dict, str, bytes, list, int, float})
_DIGITS: Final = re.compile(r"\d+")


def check_fields(meter: Meter, template: str | bytes, values: Any) -> int:
    """Return how many fields `template % values` has; stop the run if one of them is too wide."""
    text = template if isinstance(template, str) else template.decode("latin-1")
    fields = 0
    for match in _PERCENT.finditer(text):
        fields += 1
        for number in match.group(2, 3):
            if number == "*":
                _check_stars(meter, values)
            elif number is not None:
                _check_width(meter, number)
    return fields


def named_values(template: str | bytes, values: Any) -> Any:
    """Return the values that `template % values` looks up by name, read once; `values` themselves if it names none.

    A mapping may give other values than it holds (`__missing__`, `__getitem__`, a default), of any size.
    """
    if type(values) in _AS_HELD or isinstance(values, tuple) or not hasattr(type(values), "__getitem__"):
        return values
    text = template if isinstance(template, str) else template.decode("latin-1")
    names = [name for name in _PERCENT.findall(text) if name[0]]
    keys = [name[0] if isinstance(template, str) else name[0].encode("latin-1") for name in names]
    return {key: values[key] for key in dict.fromkeys(keys)} if keys else values


def check_spec(meter: Meter, spec: str) -> None:
    """Check the numbers of a format spec, and its length: dates are formatted by it as by strftime()."""
    if len(spec) > _LONGEST_SPEC:
        meter.exceed(
            f"a format spec of more than {_LONGEST_SPEC:,} characters is over the limit", limit="format"
        )
    for digits in _DIGITS.findall(spec):
        _check_width(meter, digits)


def _check_stars(meter: Meter, values: Any) -> None:
    """Check the values of `%*d`, whose width is among the values."""
    for value in values if isinstance(values, tuple) else (values,):
        if isinstance(value, int) and abs(int(value)) > _WIDEST:
            _check_width(meter, str(_WIDEST + 1))


def _check_width(meter: Meter, digits: str) -> None:
    if len(digits) > 6 or int(digits) > _WIDEST:
        meter.exceed(f"a format's width or precision is over the limit of {_WIDEST:,}", limit="format")


may_call_scripts(globals())
