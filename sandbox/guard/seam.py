# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rooms of the sandbox know of one another's guards, so that none has to import the room that makes them.

`Guard` is what the functions of a script's modules ask of the guards of their run; `Host` is what those guards ask of
whoever guards the values of Blender; `BlenderHost` is what the parts of the latter ask of one another.
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
"""(host, value, name) -> `value.name`, checked."""
Writer = Callable[[Any, Any, str, Any], None]
"""(host, value, name, new): `value.name = new`, checked."""


class Host(Protocol):
    """The guard of values whose type comes from Blender. Refuse by `meter.refuse(message)` (a `Refused`)."""

    def modules(self, wanted: Collection[str]) -> Mapping[str, object]:
        """What `import bpy`, `import bmesh`, `from bpy_extras import …` give, by dotted name, for the roots `wanted`.

        Values are `modules.View`s (immutable, read natively by scripts) or objects whose type the host owns. Dotted
        names that can be imported are all listed ('bpy', 'bpy.types', 'mathutils.noise', …).
        """

    @property
    def owned(self) -> Mapping[type, bool]:
        """What `owns` said, by type."""

    def owns(self, kind: type) -> bool:
        """Is a value of exactly this type the host's to guard? Remembered in `owned`; False for plain Python."""

    def class_base(self, kind: type) -> type | None:
        """Return what a script's class derives from instead of a class of the host's; None where it may not."""

    def plain(self, kind: type, name: str, write: bool) -> bool:
        """May `value.name` run natively, unguarded, for every value of exactly this type from now on?

        Asked when a script first reads (`write=False`) or sets (`write=True`: implies reading) that attribute on
        that type; then the answer True removes the guard from the script's hot path: the check becomes one look-up in
        a set. Say True only if whatever the attribute gives is safe to hand out and to call as it is, and if writing
        it needs no look at the new value. `False` costs a call of `getattr`/`setattr` below each time.
        """

    def plain_items(self, kind: type, write: bool) -> bool:
        """The same for `value[key]` (`write=True`: also `value[key] = …` and `del value[key]`)."""

    def getattr(self, value: object, name: str) -> object:
        """`value.name`, checked; what it returns is safe to hold, call and pass on (wrap what is not).

        Vectors, matrices and arrays that alias Blender's memory are written natively by scripts (`v.co.z += 1`):
        return a copy or a frozen one where the property may be read but not written.
        Raises AttributeError where Blender would, `Refused` where policy says no. Also asked for classes
        that it owns, which scripts get by `type(value)`.
        """

    @property
    def readers(self) -> Mapping[tuple[type, str], Reader]:
        """What `reader` said, by type and name, in this run and in earlier ones: a decision holds for all runs."""

    def reader(self, kind: type, name: str) -> Reader:
        """`getattr` for that attribute of every value of exactly this type, from now on. Remembered in `readers`."""

    def setattr(self, value: object, name: str, new: object) -> None:
        """`value.name = new`, checked."""

    @property
    def writers(self) -> Mapping[tuple[type, str], Writer]:
        """What `writer` said, as `readers`."""

    def writer(self, kind: type, name: str) -> Writer:
        """`setattr` for that attribute of every value of exactly this type, from now on. Remembered in `writers`."""

    def delattr(self, value: object, name: str) -> None:
        """`del value.name`, checked."""

    def getitem(self, value: object, key: object) -> object:
        """`value[key]`, checked."""

    def setitem(self, value: object, key: object, new: object) -> None:
        """`value[key] = new`, checked (slices too)."""

    def iterated(self, value: object) -> object:
        """What a loop over any value draws from: something that survives whatever the loop does to it."""

    def keep(self, value: Any) -> Any:
        """Return the value, which the script is about to hold where nobody sees it: on the interpreter's stack."""

    def delitem(self, value: object, key: object) -> None:
        """`del value[key]`, checked."""


class BlenderHost(Host, Protocol):
    """The guard of Blender's values in one run, as its parts see it."""

    meter: Meter
    policy: Any
    """`policy.Policy`: the allow-lists of this run."""
    members: Any
    """`blender.access.Members`: what was decided of members of Blender's types."""
    geometry: Any
    """`growth.geometry.Geometry`: estimates what a step would make."""
    stale: Any
    """`lifetime.stale.Stale`: cuts off references to what Blender has freed."""
    overrides: Any
    """`blender.overrides.Overrides`: the contexts that the script has entered."""
    keep_pixels: Callable[[Any], None]
    """Called with an image before anything may change its pixels, which undo does not bring back."""
    registered: dict[tuple[type, str], bool]
    """Whether a key of a type is what an add-on registered; nothing is registered while a script runs."""
    reached: set[tuple[str, frozenset[type], bool]]
    """Data paths that were walked and may be used, with where they begin, and whether to write."""
    script_classes: Any
    """`blender.script_classes.classes.ScriptClasses`: what the script registered."""
    idle_texts: set[int]
    """Texts that nothing runs, by session_uid: a script can give none to what would."""

    def refuse(self, message: str, *, code: str = "policy") -> NoReturn:
        """Stop the run: policy says no."""

    def exceed(self, message: str, *, limit: str) -> NoReturn:
        """Stop the run: a limit is reached."""

    def operator_module(self, name: str) -> Any:
        """Return what stands for `bpy.ops.<name>`."""

    def operator(self, idname: str) -> Any:
        """Return what stands for the operator `idname`, such as 'mesh.subdivide'."""

    def bmesh_operator(self, name: str) -> Callable[..., Any]:
        """Return the function `bmesh.ops.<name>`, with its counts checked."""

    def before_operator(self, idname: str) -> None:
        """Look at what must hold before an operator runs."""

    def after_operator(self, idname: str) -> None:
        """Look at what an operator has done."""


class Text(Protocol):
    """Values as text, of bounded size: the class of that name in `text`."""

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
        """`print(…)`, kept for the result."""


class Builtins(Protocol):
    """The builtins of a script: the class of that name in `builtins`."""

    def real(self, kind: Any) -> Any:
        """Return the type behind what stands for it in scripts; anything else is itself."""

    def facade(self, kind: type) -> Any:
        """Return what a script sees of a type."""

    def add_facade(self, function: Callable[..., Any], kind: type) -> Callable[..., Any]:
        """Let a function stand for a type; return what the script may hold of it."""

    def ticking(self, function: Any) -> Any:
        """Return a callback for C code that ticks when it is called."""

    def ticked(self, iterator: Iterator[Any]) -> Iterator[Any]:
        """Return the iterator, with a tick for each item."""

    def setattr(self, value: Any, name: Any, new: Any) -> None:
        """`setattr(value, name, new)`."""

    def sorted(self, items: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
        """`sorted(…)`."""

    def sort(self, items: list[Any], key: Any, reverse: Any) -> None:
        """`items.sort(…)`."""


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
    """Attributes of types of the library that are looked at each time; NotImplemented for those not there."""
    item_readers: dict[type, Callable[[Any, Any], Any]]
    item_writers: dict[type, Callable[[Any, Any, Any], None]]
    iterated: Callable[[Any], Any]
    """What to draw from when a script goes through a value; Blender's collections may change meanwhile."""
    operators: Operators
    hashing: Hashing
    namespace: dict[str, Any]
    """The script's globals."""

    @property
    def host(self) -> Host | None:
        """Whoever guards Blender's values; None at the levels without Blender."""

    @property
    def text(self) -> Text:
        """Values as text."""

    @property
    def builtins(self) -> Builtins:
        """The builtins of the script."""

    @property
    def imports(self) -> MutableMapping[str, Any]:
        """What the script's import statements give, by dotted name."""

    def getattr(self, value: Any, name: str) -> Any:
        """Return `value.name`, checked."""

    def setattr(self, value: Any, name: str, new: Any) -> None:
        """`value.name = new`, checked."""

    def delattr(self, value: Any, name: str) -> None:
        """`del value.name`, checked."""

    def get_named(self, value: Any, name: Any) -> Any:
        """Return `getattr(value, name)` by a name that only now is known."""

    def set_named(self, value: Any, name: Any, new: Any) -> None:
        """`setattr(value, name, new)`."""

    def delete_named(self, value: Any, name: Any) -> None:
        """`delattr(value, name)`."""

    def has_reachable(self, value: Any, name: Any) -> bool:
        """Return whether asking for the attribute could give anything but a refusal."""

    def getitem(self, value: Any, key: Any) -> Any:
        """Return `value[key]`, checked."""

    def setitem(self, value: Any, key: Any, new: Any) -> None:
        """`value[key] = new`, checked."""

    def delitem(self, value: Any, key: Any) -> None:
        """`del value[key]`, checked."""

    def special(self, value: Any, name: str) -> Any:
        """Return one of the dunder attributes of `names.READABLE_DUNDERS`."""

    def type_of(self, value: Any) -> Any:
        """Return what `type(value)` gives a script."""

    def owns(self, kind: Any) -> bool:
        """Return whether values of this type are the host's."""

    def is_hosts(self, kind: Any) -> bool:
        """As `owns`, for anything."""

    def adopt(self, kind: type) -> type:
        """Remember a class as the script's own."""

    def facade_text(self, value: Any) -> str | None:
        """Return `<class 'int'>` for what stands for a class."""
