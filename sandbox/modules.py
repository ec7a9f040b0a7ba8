# SPDX-License-Identifier: GPL-3.0-or-later
"""Curated modules: immutable views that hold allowed names one by one. A script never gets a module."""

from __future__ import annotations

import difflib
import functools
import importlib
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from .guards import Guard

__all__ = ("Imports", "View", "import_problem", "views")


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


PLAIN_MEMBERS: Final[Mapping[str, str]] = {
    "math": """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees dist e erf erfc exp exp2
        expm1 fabs floor fma fmod frexp fsum gamma hypot inf isclose isfinite isinf isnan ldexp lgamma log log10 log1p
        log2 modf nan nextafter pi pow radians remainder sin sinh sqrt sumprod tan tanh tau trunc ulp""",
    "cmath": """acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan log log10 nan
        nanj phase pi polar rect sin sinh sqrt tan tanh tau""",
    "colorsys": "hls_to_rgb hsv_to_rgb rgb_to_hls rgb_to_hsv rgb_to_yiq yiq_to_rgb",
    "string": """ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable
        punctuation whitespace""",
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone",
    "time": """ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns process_time
        time time_ns""",
    "abc": "ABC",
    "contextlib": "contextmanager nullcontext",
    "collections.abc": """Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView
        Mapping MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView""",
    "dataclasses": "FrozenInstanceError InitVar KW_ONLY MISSING field is_dataclass replace",
    "enum": "auto unique",
    "functools": "cached_property partial",
    "numbers": "Complex Integral Number Rational Real",
    "statistics": "StatisticsError",
    "array": "array",
    "types": "SimpleNamespace",
}
"""Members that are given out as they are, by module."""

REFUSED: Final[Mapping[str, str]] = {
    "asyncio": "a script runs from start to end: call functions one after the other",
    "builtins": "the builtins are there without importing them",
    "ctypes": "a script may not call native code",
    "decimal": "its numbers can grow without bounds: use float, or fractions.Fraction",
    "gc": "Python's internals are out of a script's reach",
    "glob": "a script has no access to files",
    "http": "a script has no network: use the bridge's asset tools",
    "importlib": "write an import statement",
    "inspect": "Python's internals are out of a script's reach; print(dir(value)) shows public names",
    "io": "a script has no access to files",
    "logging": "use print()",
    "multiprocessing": "a script may not start processes",
    "os": "a script has no access to files, processes or the environment; split paths with str methods",
    "pathlib": "a script has no access to files",
    "pickle": "unpickling runs code: use json",
    "requests": "a script has no network: use the bridge's asset tools",
    "shutil": "a script has no access to files",
    "socket": "a script has no network: use the bridge's asset tools",
    "subprocess": "a script may not start processes",
    "sys": "the interpreter is out of a script's reach; a script ends by itself, or by raising an exception",
    "tempfile": "a script has no access to files",
    "threading": "a script runs in Blender's main thread only",
    "urllib": "a script has no network: use the bridge's asset tools",
}
_MEMBER_REFUSED: Final[Mapping[str, str]] = {
    "time.sleep": "it would freeze Blender: leave it out",
    "string.Formatter": "use str.format() or an f-string",
    "string.Template": "use str.format() or an f-string",
    "functools.singledispatch": "use if isinstance(…)",
    "dataclasses.make_dataclass": "write a class statement",
    "collections.ChainMap": "merge the dicts: {**a, **b}",
    "json.load": "a script has no files: use json.loads(text)",
    "json.dump": "a script has no files: use json.dumps(value)",
}


class Imports(dict[str, object]):
    """What the import statements of one run give, by dotted name: `wanted` are the roots that the script names in them.

    A name that is not there refuses.
    """

    def __init__(self, guard: Guard, allowed: Collection[str], wanted: Collection[str]) -> None:
        super().__init__(views(guard, allowed, wanted))
        self._guard = guard
        self._allowed = allowed

    def __missing__(self, name: str) -> NoReturn:
        self._guard.meter.refuse(import_problem(name, self._allowed), code="import")

    def root(self, name: str) -> Any:
        """What `import a.b` binds."""
        view = self[name]
        return self.get(name.partition(".")[0], view)

    def member(self, module: str, member: str) -> Any:
        """What `from module import member` binds."""
        if f"{module}.{member}" in self:
            return self[f"{module}.{member}"]
        view = self[module]
        if type(view) is View and not member.startswith(("_", "<")) and member in vars(view):
            return vars(view)[member]
        try:
            return self._guard.get_named(view, member)
        except AttributeError:
            raise ImportError(f"cannot import name {member!r} from {module!r}") from None


def views(guard: Guard, imports: Collection[str], wanted: Collection[str]) -> dict[str, object]:
    """What a script may import, by dotted name: our views and the host's, as far as policy allows.

    `wanted` are the roots that the script does import: the rest is not made.
    """
    from .arrays import array_members
    from .blender_math import allow_mathutils, mathutils_members
    from .library import allow_library, guarded_members

    allow_library(guard)
    guarded = guarded_members(guard, wanted)
    names = {name for name in PLAIN_MEMBERS if name.partition(".")[0] in wanted} | set(guarded)
    made: dict[str, object] = {name: _view(guard, name, guarded.get(name, {})) for name in names}
    if guard.host is not None:
        allow_mathutils(guard)
        made |= mathutils_members(guard) if "mathutils" in wanted else {}
        made |= array_members(guard) if "numpy" in imports and "numpy" in wanted else {}
        made |= guard.host.modules(wanted)
    allowed = {name: view for name, view in made.items() if name in imports or name.startswith("numpy.")}
    for name, view in allowed.items():
        root, _, member = name.rpartition(".")
        if isinstance(allowed.get(root), View):
            vars(allowed[root]).setdefault(member, view)
    return allowed


def _view(guard: Guard, name: str, guarded: Mapping[str, object]) -> View:
    return View(name, {**_listed(name), **guarded}, _missing(guard, name))


@functools.cache
def _listed(name: str) -> dict[str, object]:
    """The members of a module that are given out as they are."""
    if name not in PLAIN_MEMBERS:
        return {}
    module = importlib.import_module(name)
    return {
        member: getattr(module, member) for member in PLAIN_MEMBERS[name].split() if hasattr(module, member)
    }


def _missing(guard: Guard, name: str) -> Callable[[str], NoReturn]:
    def missing(member: str) -> NoReturn:
        why = _MEMBER_REFUSED.get(f"{name}.{member}")
        if why is None and not hasattr(importlib.import_module(name), member):
            raise AttributeError(f"module {name!r} has no attribute {member!r}")
        guard.meter.refuse(
            f"{name}.{member} is not available to scripts: {why or 'it is not on the list of reviewed names'}",
            code="attribute",
        )

    return missing


def import_problem(name: str, allowed: Collection[str]) -> str:
    """Why `import name` is refused, and the nearest that is allowed."""
    root = name.partition(".")[0]
    reason = REFUSED.get(root)
    if reason is None:
        near = difflib.get_close_matches(name, allowed, 1, 0.8)
        reason = f"did you mean {near[0]}?" if near else f"allowed are {', '.join(sorted(_roots(allowed)))}"
    return f"import {name} is not allowed: {reason}"


def _roots(names: Collection[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}
