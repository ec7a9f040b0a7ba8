# SPDX-License-Identifier: GPL-3.0-or-later
"""Curated modules: immutable views that hold allowed names one by one. A script never gets a module."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple, NoReturn

from ..facts.reasons import why_member, why_module
from .facade import Facade, expose
from .seam import Guard

__all__ = (
    "Imports",
    "Later",
    "View",
    "import_advice",
    "import_problem",
    "make_view",
    "view_members",
    "view_name",
)


class Later:
    """A member that is made when a script first reads it."""

    __slots__ = ("_value", "make")

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make
        self._value: object = None

    def value(self) -> Any:
        """Return the result of `make()`, which is called only once."""
        if self._value is None:
            self._value = self.make()
        return self._value


class View(Facade):
    """The value of `import name`: each view has a class of its own, whose attributes are the members.

    A member becomes an attribute when a script first reads it, and from then on scripts read it natively. No view has a
    `__dict__` that could be written.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        kind = type(self)
        about: _About = vars(kind)["<about>"]
        if name in about.members:
            value = about.members[name]
            value = value.value() if type(value) is Later else value
            shown = value if isinstance(value, type) and value in about.own else expose(value)
            type.__setattr__(kind, name, shown)
            return shown
        if about.missing is not None and not name.startswith(("_", "<")):
            return expose(about.missing(name))
        raise AttributeError(f"module {about.name!r} has no attribute {name!r}")

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"module {view_name(self)!r} is read-only")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return sorted(vars(type(self))["<about>"].members)

    def __repr__(self) -> str:
        return f"<module {view_name(self)!r}>"


class _About(NamedTuple):
    name: str
    members: Mapping[str, object]
    missing: Callable[[str], object] | None
    own: Collection[object]


def make_view(
    name: str,
    members: Mapping[str, object],
    missing: Callable[[str], object] | None = None,
    own: Collection[object] = (),
) -> View:
    """Return a view of `members`, each in the form in which a script may hold it; those in `own` are the script's.

    `missing(name)` is called for a name that is not in `members`; it may return a value, raise AttributeError like a
    module, or refuse. Reading a member that its holder could change raises TypeError.
    """
    about = _About(name, members, missing, own)
    made: View = type("module", (View,), {"__slots__": (), "__module__": __name__, "<about>": about})()
    return made


def view_name(view: View) -> str:
    """Return the dotted name of the module that a view shows."""
    return str(vars(type(view))["<about>"].name)


def view_members(view: View) -> dict[str, object]:
    """Return the members of a view by name."""
    return {member: getattr(view, member) for member in dir(view)}


class Imports(dict[str, object]):
    """The values of the import statements of one run, by dotted name: `made`, and views of modules that are refused.

    A script may import a module that is refused for a known reason, but use nothing of it. A module that no Blender has
    raises ModuleNotFoundError, and a relative import raises ImportError, as in Blender; any other name is refused.
    """

    def __init__(self, guard: Guard, made: Mapping[str, object], allowed: Collection[str]) -> None:
        super().__init__({name: view for name, view in made.items() if type(view) is not Later})
        self._later = {name: view for name, view in made.items() if type(view) is Later}
        self._guard = guard
        self._allowed = allowed

    def __missing__(self, name: str) -> Any:
        if name in self._later:
            self[name] = self._later[name].value()
            return self[name]
        root = name.partition(".")[0]
        if root not in _KNOWN:
            kind = ImportError if name.startswith(".") else ModuleNotFoundError
            raise kind(import_problem(name, self._allowed), name=name)
        reviewed = (root in self._allowed) != (why_module(root) is not None)
        if why_module(name) is None or not reviewed:
            self._guard.meter.refuse(import_problem(name, self._allowed), code="import")
        self[name] = _refused_view(self._guard, name)
        return self[name]

    def names(self) -> set[str]:
        """Return the dotted names that a script can import."""
        return self.keys() | self._later.keys()

    def root(self, name: str) -> Any:
        """Return the value that `import a.b` binds."""
        view = self[name]
        return self.get(name.partition(".")[0], view)

    def member(self, module: str, member: str) -> Any:
        """Return the value that `from module import member` binds."""
        if f"{module}.{member}" in self.names():
            return self[f"{module}.{member}"]
        view = self[module]
        if isinstance(view, View) and member in dir(view):
            return getattr(view, member)
        try:
            return self._guard.get_named(view, member)
        except AttributeError:
            raise ImportError(f"cannot import name {member!r} from {module!r}") from None


def _refused_view(guard: Guard, name: str) -> View:
    """Return the view of a module of which a script may use nothing."""

    def missing(member: str) -> NoReturn:
        guard.meter.refuse(
            f"{name}.{member} is not available to scripts: {why_member(name, member)}", code="attribute"
        )

    return make_view(name, {}, missing)


_KNOWN: Final = frozenset(sys.stdlib_module_names) | frozenset(
    """
    addon_utils aud bgl bl_app_override bl_console_utils bl_ext bl_extension_ops bl_i18n_utils bl_keymap_utils
    bl_operators bl_previews_utils bl_text_utils bl_ui bl_ui_utils blf bmesh bpy bpy_extras bpy_restrict_state
    bpy_types certifi charset_normalizer console_python console_shell cycles freestyle gpu gpu_extras graphviz_export
    idprop imbuf keyingsets_builtins keyingsets_utils mathutils nodeitems_builtins nodeitems_utils numpy pip requests
    rna_info rna_keymap_ui rna_manual_reference rna_prop_ui rna_xml urllib3 zstandard
    """.split()
)
"""Modules that come with Blender: any other one raises ModuleNotFoundError there, too."""


def import_problem(name: str, allowed: Collection[str]) -> str:
    """Return why `import name` is refused, and what to do instead."""
    return f"import {name} is not allowed: {import_advice(name, allowed)}"


def import_advice(name: str, allowed: Collection[str]) -> str:
    """Return what to do instead of `import name`: the known reason, the nearest name, or what can be imported."""
    if name.startswith("."):
        return "a script belongs to no package: name the module in full"
    if reason := why_module(name):
        return reason
    if near := difflib.get_close_matches(name, allowed, 1, 0.8):
        return f"did you mean {near[0]}?"
    return f"write what it does in the script, with {', '.join(sorted(_roots(allowed)))}"


def _roots(names: Collection[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}
