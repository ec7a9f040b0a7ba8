# SPDX-License-Identifier: GPL-3.0-or-later
"""The interfaces between the guards of the sandbox's rooms, so that no room imports the room that makes a guard.

`Guard` is what a script's modules use of the guards of their run; `Host` is what those guards use of the guard of
Blender's values; `BlenderHost` is what the parts of the latter use of one another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from .meter import Meter

if TYPE_CHECKING:
    from .operators import Operators
    from .values.hashing import Hashing

__all__ = ("BlenderHost", "Builtins", "Guard", "Host", "Reader", "Text", "Writer")

Reader = Callable[[Any, Any, str], Any]
"""A function (host, value, name) that returns `value.name`, checked."""
Writer = Callable[[Any, Any, str, Any], None]
"""A function (host, value, name, new) that sets `value.name = new`, checked."""


class Host(Protocol):
    """The guard of values whose type comes from Blender. Refuse by `meter.refuse(message)` (a `Refused`)."""

    def modules(self, wanted: Collection[str]) -> Mapping[str, object]:
        """Return the values of `import bpy`, `import bmesh` and so on by dotted name, for the roots `wanted`.

        Values are `modules.View`s (immutable, read natively by scripts) or objects whose type the host owns. All dotted
        names that can be imported are listed ('bpy', 'bpy.types', 'mathutils.noise', …).
        """

    @property
    def owned(self) -> Mapping[type, bool]:
        """The earlier results of `owns`, by type."""

    def owns(self, kind: type) -> bool:
        """Return whether the host guards values of exactly this type; False for plain Python. Remembered in `owned`."""

    def class_base(self, kind: type) -> type | None:
        """Return the base that a script's class gets instead of a class of the host's; None if it may not be a base."""

    def plain(self, kind: type, name: str, write: bool) -> bool:
        """Return whether `value.name` may run natively, unguarded, for every value of exactly this type from now on.

        Called when a script first reads (`write=False`) or sets (`write=True`: implies reading) that attribute on that
        type. True removes the guard from the script's hot path: the check becomes one look-up in a set. Return True
        only if every value of the attribute is safe to hand out and to call as it is, and if writing it needs no check
        of the new value. After False, each use costs a call of `getattr`/`setattr` below.
        """

    def only_limited(self, kind: type, name: str) -> bool:
        """Return whether any number but NaN may be set natively where `plain` says False, until `guard_writes`."""

    def plain_items(self, kind: type, write: bool) -> bool:
        """Return whether `value[key]` may run natively (`write=True`: also `value[key] = …` and `del value[key]`)."""

    def getattr(self, value: object, name: str) -> object:
        """Read `value.name`, checked; the result is safe to hold, call and pass on (wrap what is not).

        Scripts write vectors, matrices and arrays that alias Blender's memory natively (`v.co.z += 1`): return a copy
        or a frozen one if the property may be read but not written.
        Raises AttributeError where Blender would, `Refused` where policy refuses. Also called for classes that the host
        owns, which scripts get by `type(value)`.
        """

    @property
    def readers(self) -> Mapping[tuple[type, str], Reader]:
        """The earlier results of `reader`, by type and name, from this and other runs: decisions hold for all runs."""

    def reader(self, kind: type, name: str) -> Reader:
        """Return the reader of that attribute for every value of exactly this type. Remembered in `readers`."""

    def setattr(self, value: object, name: str, new: object) -> None:
        """Set `value.name = new`, checked."""

    @property
    def writers(self) -> Mapping[tuple[type, str], Writer]:
        """The earlier results of `writer`, by type and name, from this run and others."""

    def writer(self, kind: type, name: str) -> Writer:
        """Return the writer of that attribute for every value of exactly this type. Remembered in `writers`."""

    def delattr(self, value: object, name: str) -> None:
        """Delete `value.name`, checked."""

    def getitem(self, value: object, key: object) -> object:
        """Read `value[key]`, checked."""

    def setitem(self, value: object, key: object, new: object) -> None:
        """Set `value[key] = new`, checked (slices too)."""

    def iterated(self, value: object) -> object:
        """Return what a loop over any value reads from: it survives whatever the loop does to the value."""

    def keep(self, value: Any) -> Any:
        """Return the value, and keep it: the script is about to hold it unseen, on the interpreter's stack."""

    def delitem(self, value: object, key: object) -> None:
        """Delete `value[key]`, checked."""

    def end(self) -> None:
        """Let go of everything: the run is over."""


class BlenderHost(Host, Protocol):
    """The guard of Blender's values in one run, as its parts see it."""

    meter: Meter
    policy: Any
    """`policy.Policy`: the allow-lists of this run."""
    members: Any
    """`blender.access.Members`: the decisions about members of Blender's types."""
    geometry: Any
    """`growth.geometry.Geometry`: estimates what a step would make."""
    stale: Any
    """`lifetime.stale.Stale`: cuts off references to what Blender has freed."""
    overrides: Any
    """`blender.overrides.Overrides`: the contexts that the script has entered."""
    keep_pixels: Callable[[Any], None]
    """Called with an image before anything may change its pixels, which undo does not restore."""
    registered: dict[tuple[type, str], bool]
    """Whether an add-on registered this key of a type; nothing is registered while a script runs."""
    reached: set[tuple[str, frozenset[type], bool]]
    """Data paths that were checked and may be used, with the types where they begin, and whether to write."""
    script_classes: Any
    """`blender.script_classes.classes.ScriptClasses`: the classes that the script registered."""
    idle_texts: set[int]
    """Texts that nothing runs, by session_uid: a script cannot assign one to what would run it."""

    def refuse(self, message: str, *, code: str = "policy") -> NoReturn:
        """Stop the run because policy refuses something."""

    def exceed(self, message: str, *, limit: str) -> NoReturn:
        """Stop the run because it reached a limit."""

    def operator_module(self, name: str) -> Any:
        """Return the script's `bpy.ops.<name>`."""

    def operator(self, idname: str) -> Any:
        """Return the script's operator `idname`, such as 'mesh.subdivide'."""

    def bmesh_operator(self, name: str) -> Callable[..., Any]:
        """Return the function `bmesh.ops.<name>`, which checks its counts."""

    def before_operator(self, idname: str) -> None:
        """Check an operator, and note what it may free, before it runs; `after_operator` has to follow."""

    def after_operator(self, idname: str) -> None:
        """Check what an operator did, whether or not it failed."""


class Text(Protocol):
    """Text of values, of bounded size: the class of that name in `text`."""

    def show(self, value: Any) -> str:
        """Return `str(value)`."""

    def repr(self, value: Any) -> str:
        """Return `repr(value)`."""

    def format_value(self, value: Any, spec: Any = "") -> str:
        """Return `format(value, spec)`."""

    def format(self, template: str, arguments: Any, named: Any) -> str:
        """Return `template.format(*arguments, **named)`."""

    def print(
        self, *values: Any, sep: Any = None, end: Any = None, file: Any = None, flush: Any = False
    ) -> None:
        """Keep the text of `print(…)` for the result."""


class Builtins(Protocol):
    """The builtins of a script: the class of that name in `builtins`."""

    def real(self, kind: Any) -> Any:
        """Return the type behind its facade in scripts; anything else is returned as it is."""

    def facade(self, kind: type) -> Any:
        """Return the facade of a type, or the type itself."""

    def add_facade(self, function: Callable[..., Any], kind: type) -> Callable[..., Any]:
        """Use a function as the facade of a type; return the value that the script may hold."""

    def ticking(self, function: Any) -> Any:
        """Return a callback for C code that ticks at each call."""

    def called(self, function: Any) -> Any:
        """Return a function for C code that calls it for each item."""

    def ticked(self, iterator: Iterator[Any]) -> Iterator[Any]:
        """Return the iterator, with a tick for each item."""

    def abs(self, value: Any) -> Any:
        """Return `abs(value)`, checked."""

    def setattr(self, value: Any, name: Any, new: Any) -> None:
        """Set an attribute by `setattr(value, name, new)`, checked."""

    def sorted(self, items: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
        """Return `sorted(…)` after a check of how much is compared."""

    def sort(self, items: list[Any], key: Any, reverse: Any) -> None:
        """Sort a list by `items.sort(…)` after a check of how much is compared."""


class Guard(Protocol):
    """The guards of one run: the class of that name in `guards`."""

    meter: Meter
    own: set[type]
    """The classes that the script made."""
    simple: set[type]
    safe_times: set[type]
    scalar: set[type]
    items: set[type]
    set_items: set[type]
    """Sets of types as `hooks` describes them: SIMPLE, SAFE_TIMES, SCALAR, ITEMS, SET_ITEMS."""
    allowed: dict[type, frozenset[str]]
    """Attributes that may be read unguarded, by exact type; classes by the class itself."""
    writable: dict[type, frozenset[str]]
    """Attributes that may be set unguarded, by exact type."""
    methods: dict[type, dict[str, Callable[..., Any]]]
    """Guarded methods of types of the library, by exact type."""
    getters: dict[type, Callable[[Any, str], Any]]
    """Functions that read attributes of library types, checked each time; NotImplemented for a missing attribute."""
    item_readers: dict[type, Callable[[Any, Any], Any]]
    item_writers: dict[type, Callable[[Any, Any, Any], None]]
    iterated: Callable[[Any], Any]
    """Returns what a loop over a value reads from; Blender's collections may change meanwhile."""
    operators: Operators
    hashing: Hashing
    namespace: dict[str, Any]
    """The script's globals."""

    @property
    def host(self) -> Host | None:
        """The guard of Blender's values; None at the levels without Blender."""

    @property
    def text(self) -> Text:
        """The text of values."""

    @property
    def builtins(self) -> Builtins:
        """The builtins of the script."""

    @property
    def imports(self) -> MutableMapping[str, Any]:
        """The values of the script's import statements, by dotted name."""

    def getattr(self, value: Any, name: str) -> Any:
        """Return `value.name`, checked."""

    def setattr(self, value: Any, name: str, new: Any) -> None:
        """Set `value.name = new`, checked."""

    def delattr(self, value: Any, name: str) -> None:
        """Delete `value.name`, checked."""

    def get_named(self, value: Any, name: Any) -> Any:
        """Return `getattr(value, name)`, whose name is known only at run time."""

    def set_named(self, value: Any, name: Any, new: Any) -> None:
        """Set an attribute by `setattr(value, name, new)`, checked."""

    def delete_named(self, value: Any, name: Any) -> None:
        """Delete an attribute by `delattr(value, name)`, checked."""

    def has_reachable(self, value: Any, name: Any) -> bool:
        """Return whether reading the attribute could do anything but refuse."""

    def getitem(self, value: Any, key: Any) -> Any:
        """Return `value[key]`, checked."""

    def setitem(self, value: Any, key: Any, new: Any) -> None:
        """Set `value[key] = new`, checked."""

    def delitem(self, value: Any, key: Any) -> None:
        """Delete `value[key]`, checked."""

    def special(self, value: Any, name: str) -> Any:
        """Return one of the dunder attributes of `names.READABLE_DUNDERS`."""

    def type_of(self, value: Any) -> Any:
        """Return the result of `type(value)` for a script."""

    def owns(self, kind: Any) -> bool:
        """Return whether the host guards values of this type."""

    def is_hosts(self, kind: Any) -> bool:
        """Return whether the host guards values of this type, with a new check; False for what is no type."""

    def adopt(self, kind: type) -> type:
        """Remember a class as the script's own."""

    def facade_text(self, value: Any) -> str | None:
        """Return `<class 'int'>` for the facade of a class; None for anything else."""
