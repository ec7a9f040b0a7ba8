# SPDX-License-Identifier: GPL-3.0-or-later
"""The hooks that a transformed script calls, and their interface to the guard of Blender's values (`Host`).

The rule that makes the guards small: **a script only ever holds values that it may use in any way the language
allows**. So calls, iteration, unpacking, comparison and truth need no guard. Only reading and writing attributes and
items does, and the operators that could make huge values. Any value that a hook or a `Host` returns must be safe to
call, to iterate and to pass around; a value that is not safe is wrapped or refused before it is returned.
"""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NoReturn

from ..facts.reasons import why_value
from ..language import hooks, names
from .builtins import Builtins, StandIn, kind_of, stand_in
from .classes import EXCEPTIONS, ClassHook, reads_memory
from .facade import Facade, bind, is_sealed, may_be_held, seal, unseal
from .members.assignment import AssignmentTarget
from .members.inherited import super_member, super_of
from .members.items import Items
from .members.methods import guarded_method
from .meter import Meter
from .modules import Imports, View, view_name
from .native import guard_sets, initial_types, reads_natively, writes_natively
from .operators import Operators
from .reentry import call, may_call_scripts
from .seam import Host, Reader, Writer
from .values import deep_nesting
from .values.hashing import Hashing
from .values.plain import (
    ITEM_TYPES,
    PLAIN_TYPES,
    SAFE_TIMES,
    SAFE_TO_ITERATE,
    SCALAR_TYPES,
    SET_ITEM_TYPES,
    SIMPLE_TYPES,
)
from .values.text import Text

__all__ = ("Guard",)

_GENERATOR: Final = frozenset({"send", "throw", "close"})
_PROPERTY: Final = frozenset({"getter", "setter", "deleter"})
_EXCEPTION: Final = frozenset(
    {"args", "errno", "strerror", "msg", "name", "value", "reason", "start", "end", "lineno", "add_note"}
)
_OTHER_TYPES: Final[dict[type, frozenset[str]]] = {
    types.GeneratorType: _GENERATOR,
    deep_nesting.property: _PROPERTY,
}
_LASTING: Final = frozenset({"__builtins__", hooks.RUNNING, hooks.STOP})


class Guard(Items):
    """The guards of one run."""

    def __init__(self, meter: Meter, host: Host | None) -> None:
        self.meter = meter
        self.host = host
        self.own: set[type] = set()
        self.simple: set[type] = set(SIMPLE_TYPES)
        self.safe_times: set[type] = set(SAFE_TIMES)
        self.scalar: set[type] = set(SCALAR_TYPES)
        self.items: set[type] = set(ITEM_TYPES)
        self.set_items: set[type] = set(SET_ITEM_TYPES)
        self.allowed: dict[type, frozenset[str]] = PLAIN_TYPES | _OTHER_TYPES
        """Attributes that may be read unguarded, by exact type; classes by the class itself."""
        self.writable: dict[type, frozenset[str]] = {}
        self.methods: dict[type, dict[str, Callable[..., Any]]] = {}
        """Guarded methods of types of the library, by exact type."""
        self.getters: dict[type, Callable[[Any, str], Any]] = {}
        """Functions that read attributes of library types, checked each time; NotImplemented for a missing one."""
        self.item_readers: dict[type, Callable[[Any, Any], Any]] = {}
        self.item_writers: dict[type, Callable[[Any, Any, Any], None]] = {}
        self.iterated: Callable[[Any], Any] = host.iterated if host is not None else _same
        """Returns what a loop over a value reads from; Blender's collections may change meanwhile."""
        self._owned = host.owned if host is not None else {}
        self._readers: Mapping[tuple[type, str], Reader] = host.readers if host is not None else {}
        self._writers: Mapping[tuple[type, str], Writer] = host.writers if host is not None else {}
        self._routes: dict[tuple[type, str], Callable[[Any], Any]] = {}
        """Readers of methods of plain types that always need a guard, by the value's exact type and the name."""
        self._of_classes: dict[tuple[type, str], Any] = {}
        """Methods of classes that are not the script's own, by class and name."""
        self.operators = Operators(meter)
        self.hashing = Hashing(self.operators, self.own)
        self.text = Text(self)
        self.builtins = Builtins(self)
        self.real = self.operators.real = self.builtins.real
        self.namespace: dict[str, Any] = {}
        self.imports: Imports
        """The values of the script's import statements, once `begin` was called."""

    def begin(
        self, imports: Imports, read: Collection[str], written: Collection[str], *, has_classes: bool
    ) -> None:
        """Fill the namespace of a script that imports from `imports`, reads attributes `read` and sets `written`.

        `has_classes`: whether the script makes classes, whose methods may change a set while C code works on it.
        """
        self.imports = imports
        self.namespace |= {"__builtins__": self.builtins.table(), "__name__": "<script>", **self._hooks()}
        views = {type(view) for view in imports.values() if isinstance(view, View)}
        self.namespace |= initial_types(read, written, self.allowed, self.writable, views)
        if has_classes:
            self.operators.sets.guarded = True
            guard_sets(self.namespace)
        self.meter.attach(self.namespace)

    def end(self) -> None:
        """Let go of all that the script made, when the run is over: the guards know each other, so it would stay.

        A function of the script that is still there can only stop. Its builtins stay: Python would take its own ones.
        """
        namespace = self.namespace
        self.builtins.generators.close()
        for name in [name for name in namespace if name not in _LASTING]:
            del namespace[name]
        self.own.clear()
        if self.host is not None:
            self.host.end()
        for part in (self.builtins, self):  # each refers to itself
            vars(part).clear()

    def _hooks(self) -> dict[str, object]:
        make_class = ClassHook(self, self.real)
        table: dict[str, object] = {
            hooks.STOP: self.meter.stop,
            hooks.DEPTH: _check_depth,
            hooks.TYPE: type,
            hooks.SLICE: slice,
            hooks.EXCEPTION: Exception,
            hooks.CHECK_HASH: self.hashing.key,
            hooks.CHECK_HASHES: self.hashing.keys,
            hooks.SIMPLE: self.simple,
            hooks.SAFE_TIMES: self.safe_times,
            hooks.SCALAR: self.scalar,
            hooks.ITEMS: self.items,
            hooks.SET_ITEMS: self.set_items,
            hooks.OWN: self.own,
            hooks.GETATTR: self.getattr,
            hooks.GETITEM: self.getitem,
            hooks.WRITE: functools.partial(AssignmentTarget, self),
            hooks.SETATTR: self.setattr,
            hooks.SET_ALL: self.builtins.set_all,
            hooks.SPECIAL: self.special,
            hooks.SUPER: functools.partial(super_member, self),
            hooks.SUPER_OF: functools.partial(super_of, self),
            hooks.ASK: call,
            hooks.MODULES: self.imports,
            hooks.IMPORT: self.imports.root,
            hooks.IMPORT_FROM: self.imports.member,
            hooks.CLASS: make_class,
            hooks.FORMAT: self.text.format_value,
            hooks.SHOW: self.text.show,
            hooks.SAFE_TO_ITERATE: SAFE_TO_ITERATE,
            hooks.ITERATED: self.iterated,
            hooks.KEEP: self.host.keep if self.host is not None else _same,
            hooks.REPR: self.text.repr,
        }
        kinds = {*self.builtins.facades.values(), bool, complex, dict, float, frozenset, list, set, tuple}
        table |= {hooks.TYPES.format(kind.__name__): kind for kind in kinds}
        table |= {hooks.RAW[function.__name__]: function for function in (enumerate, map, reversed, zip)}
        table |= {
            hooks.ISINSTANCE: isinstance,
            hooks.COUNT_GENERATOR: self.builtins.count_generator,
            hooks.COUNT_LASTING_GENERATOR: self.builtins.count_lasting_generator,
            hooks.UNPACKED: self.builtins.unpacked,
        }
        return table | self.operators.table()

    # Reading attributes

    def getattr(self, value: Any, name: str) -> Any:
        """Read `value.name`, checked for this value; the transformer has already checked `name` itself."""
        kind = type(value)
        read = self._readers.get((kind, name))
        if read is not None:
            return read(self.host, value, name)
        route = self._routes.get((kind, name))
        if route is not None:
            return route(value)
        owned = self._owned.get(kind)
        if owned is None:
            owned = self.is_hosts(kind)
        if owned or (kind is type and self.owns(value)):
            assert self.host is not None
            if kind is not type:
                if not name.startswith("_") and self.host.plain(kind, name, False):
                    reads_natively(self.namespace, name, kind)
                    return getattr(value, name)
                return self.host.reader(kind, name)(self.host, value, name)
            return self.host.getattr(value, name)
        if kind in self.own:
            return self._own_member(value, kind, name)
        allowed = self.allowed.get(kind)
        if allowed is not None and name in allowed:
            if kind is not type:
                reads_natively(self.namespace, name, kind)
            return getattr(value, name)
        return self._rare_member(value, kind, name)

    def _facade_member(self, value: Any, kind: type, name: str) -> Any:
        """Read a public attribute of a facade, all of which a script may use."""
        if name.startswith("_"):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        reads_natively(self.namespace, name, kind)
        return getattr(value, name)

    def _own_member(self, value: Any, kind: type, name: str) -> Any:
        """Read an attribute of an instance of a class that the script made."""
        method = guarded_method(self, kind, name)
        if method is not None and not self._overrides(kind, name):
            return bind(method, value)
        if method is None and not name.startswith("_"):  # the script may remove its own method again
            reads_natively(self.namespace, name, kind)
        return getattr(value, name)

    def _overrides(self, kind: type, name: str) -> bool:
        owner = next((base for base in kind.__mro__ if name in vars(base)), None)
        return owner in self.own

    def _rare_member(self, value: Any, kind: type, name: str) -> Any:
        """Read attributes of classes, facades, functions, exceptions, `super()`, or guarded methods of plain values."""
        facade = self.real(value)
        if isinstance(facade, type):
            return self._class_member(facade, name)
        if issubclass(kind, Facade):
            return self._facade_member(value, kind, name)
        read = self.getters.get(kind)
        if read is not None and (found := read(value, name)) is not NotImplemented:
            self._routes[kind, name] = lambda value: read(value, name)
            return found
        method = self.methods.get(kind, {}).get(name) or guarded_method(self, kind, name)
        if method is not None:
            if kind in PLAIN_TYPES or kind in self.simple or kind in self.methods:
                self._routes[kind, name] = functools.partial(types.MethodType, method)
            return bind(method, value)
        if kind is types.FunctionType and value.__globals__ is self.namespace:
            return getattr(value, name)
        if kind is super:
            return super_member(self, value, name)
        if isinstance(value, BaseException) and name in _EXCEPTION:
            return getattr(value, name)
        if not hasattr(kind, name):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        return self._refuse_member(kind, name)

    def _refuse_member(self, kind: type, name: str) -> NoReturn:
        why = why_value(kind.__name__, name)
        self.meter.refuse(f"{kind.__name__}.{name} may not be used by a script: {why}", code="attribute")

    def _class_member(self, kind: type, name: str) -> Any:
        if self.host is not None and self.owns(kind):
            return self.host.getattr(kind, name)
        if kind in self.own:
            method = guarded_method(self, kind, name)
            if method is not None and not self._overrides(kind, name):
                return seal(method)
            # a script may not use a metaclass's own attributes (EnumType._convert_, ABCMeta.register)
            owner = next((base for base in kind.__mro__ if name in vars(base)), None)
            if owner is None:
                raise AttributeError(f"type object {kind.__name__!r} has no attribute {name!r}")
            if name.startswith("_") and owner not in self.own:
                self._refuse_member(kind, name)
            return getattr(kind, name)
        found = self._of_classes.get((kind, name))
        if found is None:
            method = self.methods.get(kind, {}).get(name) or guarded_method(self, kind, name)
            if method is None and name not in self.allowed.get(kind, ()):
                if not hasattr(kind, name):
                    raise AttributeError(f"type object {kind.__name__!r} has no attribute {name!r}")
                self._refuse_member(kind, name)
            found = self._of_classes[kind, name] = seal(method or getattr(kind, name))
        return found

    def special(self, value: Any, name: str) -> Any:
        """Read a dunder attribute of `names.READABLE_DUNDERS`."""
        kind = self.real(value)
        if name == "__class__":
            return self.type_of(value)
        if name == "__doc__":
            documented = kind in self.own or getattr(value, "__globals__", None) is self.namespace
            return value.__doc__ if documented and isinstance(value, type | types.FunctionType) else None
        if name in ("__name__", "__qualname__") and isinstance(
            kind, type | types.FunctionType | types.BuiltinFunctionType
        ):
            return getattr(kind, name)
        if name in ("__name__", "__qualname__") and is_sealed(value):
            return getattr(unseal(value), name)
        if name == "__name__" and isinstance(value, types.MethodType | View):
            return view_name(value) if isinstance(value, View) else value.__name__
        if (
            name == "__init__"
            and isinstance(kind, type)
            and (kind in self.own or kind in EXCEPTIONS or kind in _WITH_INIT)
        ):
            made = (self.hashing.base(kind) if kind in (dict, set) else kind).__init__  # type: ignore[misc]
            return made if getattr(made, "__globals__", None) is self.namespace else seal(made)
        if name == "__members__" and isinstance(kind, type) and issubclass(kind, enum.Enum):
            return dict(kind.__members__)
        raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")

    def type_of(self, value: Any) -> Any:
        """Return the result of `type(value)` for a script."""
        kind: Any = type(value)
        if kind in self.own:
            return kind
        if self.owns(kind) or reads_memory(kind):
            return stand_in(kind)  # a call of a class of Blender's would show one thing as if it were another
        if kind in self.allowed or isinstance(value, BaseException):
            facade: Any = self.builtins.facade(kind) if kind not in _OTHER_TYPES else stand_in(kind)
            return facade if facade is not kind or may_be_held(facade) else stand_in(kind)
        return self.builtins.facade(type) if isinstance(self.real(value), type) else stand_in(kind)

    # Attributes by a name made at run time

    def get_named(self, value: Any, name: Any) -> Any:
        """Read `getattr(value, name)`, whose name is known only at run time."""
        if type(name) is str and (read := self._readers.get((type(value), name))) is not None:
            return read(self.host, value, name)
        self._check_name(name)
        if names.is_dunder(name):
            return self.special(value, name)
        if name.startswith("_") and not self._is_own(value):
            raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
        return self.getattr(value, name)

    def _is_own(self, value: Any) -> bool:
        return type(value) in self.own or (isinstance(value, type) and value in self.own)

    def set_named(self, value: Any, name: Any, new: Any) -> None:
        """Set `setattr(value, name, new)`, whose name is known only at run time."""
        if type(name) is not str or (type(value), name) not in self._writers:
            self._check_name(name)
        self.setattr(value, name, new)

    def delete_named(self, value: Any, name: Any) -> None:
        """Delete `delattr(value, name)`, whose name is known only at run time."""
        self._check_name(name)
        self.delattr(value, name)

    def _check_name(self, name: Any) -> None:
        if type(name) is not str:  # a subclass could return different names each time
            if isinstance(name, str):
                self.meter.refuse("an attribute's name has to be a plain str", code="attribute")
            raise TypeError("attribute name must be string")
        if (problem := names.attribute_problem(name)) or name.startswith("<"):
            self.meter.refuse(f"attribute {name!r} is not available: {problem}", code="attribute")

    def has_reachable(self, value: Any, name: Any) -> bool:
        """Return whether reading the attribute could do anything but refuse."""
        if type(name) is not str or names.attribute_problem(name) or name.startswith("<"):
            return False
        kind = type(value)
        if names.is_dunder(name) or self.owns(kind):
            return True
        real = self.real(value)
        if isinstance(real, type) and not self.owns(real):
            return real in self.own or name in self.allowed.get(real, ()) or self._guarded(real, name)
        if kind in self.own or kind is super or name in self.allowed.get(kind, ()):
            return True
        if issubclass(kind, Facade):
            return not name.startswith("_")
        if kind in self.getters and self.getters[kind](value, name) is not NotImplemented:
            return True
        if isinstance(value, BaseException) and name in _EXCEPTION:
            return True
        return self._guarded(kind, name) or (
            kind is types.FunctionType and value.__globals__ is self.namespace
        )

    def _guarded(self, kind: type, name: str) -> bool:
        return name in self.methods.get(kind, ()) or guarded_method(self, kind, name) is not None

    # Writing attributes

    def setattr(self, value: Any, name: str, new: Any) -> None:
        """Set `value.name = new`, checked."""
        kind = type(value)
        write = self._writers.get((kind, name))
        if write is not None:
            write(self.host, value, name, new)
            return
        if kind is StandIn:
            value = kind_of(value)
            kind = type(value)
        if names.is_dunder(name):
            self.meter.refuse(f"attribute {name!r} cannot be set: it belongs to Python", code="attribute")
        if self.owns(kind) or (kind is type and self.owns(value)):
            assert self.host is not None
            if kind is type:
                self.host.setattr(value, name, new)
            elif not name.startswith("_") and self.host.plain(kind, name, True):
                writes_natively(self.namespace, name, kind)
                setattr(value, name, new)
            else:
                if self.host.only_limited(kind, name):
                    writes_natively(self.namespace, hooks.finite(name), kind)
                self.host.writer(kind, name)(self.host, value, name, new)
        elif self._may_write(value, kind, name):
            setattr(value, name, new)
        else:
            self._cannot_write(value, kind, name)

    def _may_write(self, value: Any, kind: type, name: str) -> bool:
        if kind in self.own or name in self.writable.get(kind, ()):
            if not name.startswith("_"):
                writes_natively(self.namespace, name, kind)
            return True
        if isinstance(value, type):
            return value in self.own and name != "_missing_"  # checked when the class is made
        return kind is types.FunctionType and value.__globals__ is self.namespace and not name.startswith("_")

    def _cannot_write(self, value: Any, kind: type, name: str) -> NoReturn:
        if kind in self.allowed and not hasattr(kind, name):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        what = getattr(value, "__name__", kind.__name__) if isinstance(value, type) else kind.__name__
        why = why_value(what, name)
        self.meter.refuse(f"attribute {name!r} of {what} cannot be set by a script: {why}", code="attribute")

    def delattr(self, value: Any, name: str) -> None:
        """Delete `value.name`, checked."""
        kind = type(value)
        if self.owns(kind):
            assert self.host is not None
            self.host.delattr(value, name)
        elif not names.is_dunder(name) and self._is_own(value):
            delattr(value, name)
        else:
            self.meter.refuse(
                f"attribute {name!r} of {kind.__name__} cannot be deleted by a script", code="attribute"
            )

    # The rest

    def adopt(self, kind: type) -> type:
        """Remember a class as the script's own."""
        self.own.add(kind)
        return kind

    def facade_text(self, value: Any) -> str | None:
        """Return `<class 'int'>` for the facade of a class; None for anything else."""
        real = self.real(value)
        return repr(real) if real is not value and isinstance(real, type) else None


def _same(value: Any) -> Any:
    return value


def _check_depth() -> bool:
    return True


_WITH_INIT: Final = frozenset({object, list, dict, set})

may_call_scripts(globals(), by_instruction=True)
