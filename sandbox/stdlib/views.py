# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the views of the standard library's modules that a script may import."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Collection, Mapping
from typing import Final, NoReturn

from ..facts.reasons import why_member
from ..guard.modules import View, make_view
from ..guard.seam import Guard
from .library import allow_library, guarded_members

__all__ = ("PLAIN_MEMBERS", "library_views")

PLAIN_MEMBERS: Final[Mapping[str, str]] = {
    "math": """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees dist e erf erfc exp exp2
        expm1 fabs floor fma fmod frexp fsum gamma hypot inf isclose isfinite isinf isnan ldexp lgamma log log10 log1p
        log2 modf nan nextafter pi pow radians remainder sin sinh sqrt sumprod tan tanh tau trunc ulp""",
    "cmath": """acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan log log10 nan
        nanj phase pi polar rect sin sinh sqrt tan tanh tau""",
    "colorsys": "hls_to_rgb hsv_to_rgb rgb_to_hls rgb_to_hsv rgb_to_yiq yiq_to_rgb",
    "string": """ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits printable
        punctuation whitespace""",
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone",
    "time": """ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns process_time
        time time_ns""",
    "array": "array",
}
"""Members that a script gets unchanged, by module."""


def library_views(guard: Guard, wanted: Collection[str]) -> dict[str, object]:
    """Return the views of the modules under the roots `wanted`, by dotted name."""
    allow_library(guard)
    guarded = guarded_members(guard, wanted)
    names = {name for name in (*PLAIN_MEMBERS, *guarded) if name.partition(".")[0] in wanted}
    made: dict[str, object] = {}
    for name in sorted(names, reverse=True):  # makes the parts of a module before the module
        parts = {
            part.rpartition(".")[2]: view for part, view in made.items() if part.rpartition(".")[0] == name
        }
        made[name] = _view(guard, name, {**guarded.get(name, {}), **parts})
    return made


def _view(guard: Guard, name: str, guarded: Mapping[str, object]) -> View:
    return make_view(name, {**_listed(name), **guarded}, _missing(guard, name), guard.own)


@functools.cache
def _listed(name: str) -> dict[str, object]:
    """Return the members of a module that a script gets unchanged."""
    if name not in PLAIN_MEMBERS:
        return {}
    module = importlib.import_module(name)
    return {
        member: getattr(module, member) for member in PLAIN_MEMBERS[name].split() if hasattr(module, member)
    }


def _missing(guard: Guard, name: str) -> Callable[[str], NoReturn]:
    def missing(member: str) -> NoReturn:
        if not hasattr(importlib.import_module(name), member):
            raise AttributeError(f"module {name!r} has no attribute {member!r}")
        guard.meter.refuse(
            f"{name}.{member} is not available to scripts: {why_member(name, member)}", code="attribute"
        )

    return missing
