# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts off references to what Blender has freed, as Blender itself does it for removed data-blocks.

A reference to a vertex, bone, socket or modifier is a bare pointer. When the array behind it moves or the item is
removed, the next use reads or writes freed memory and crashes Blender. Blender can say "has been removed", but only
does so for whole data-blocks. So after every step that may free such items, the sandbox finds the references that the
script still holds (`lifetime.held`), compares them with what the data-block has now (`existing`), and cuts off those
whose item is gone (`lifetime.memory`). Before a data-block is removed, it notes which parts of it the script holds.

If the sandbox cannot tell whether an item exists, it cuts off the reference, too. If it cannot cut off a reference, it
ends the run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import bmesh
import bpy

from ...base.identity import identity
from ..facts.members import names
from ..guard import native
from ..guard.meter import closed
from . import freeing, layout, memory, parts, sharing
from .bmesh import layers as bmesh_layers
from .bmesh.drawn import MeshLoops
from .bmesh.made import OwnMeshes
from .bmesh.removals import ELEMENTS, LayerValues
from .custom_properties import PARTS, PropertyParts
from .existing import KindsByPointer, Now
from .held import Held
from .hidden import Hidden
from .layers import WRITTEN, LayerReferences
from .references import (
    ANY,
    ANY_OR_INSIDE,
    BLENDERS,
    LENT,
    PARTS_OF_MESH,
    ROOTED,
    ROOTS,
    SHARED_ROOT,
    STRUCT,
    is_loose,
    references,
)

__all__ = ("FRAGILE", "Stale")

#: Elements of arrays that grow while scripts hold their points: the host reads them, so that a sweep can wait.
FRAGILE = names("fragile elements")

_FLAGGED = tuple(getattr(bpy.types, name) for name in sorted(WRITTEN) if hasattr(bpy.types, name))
_NONE: frozenset[str] = frozenset()


def _is_in(modes: frozenset[str], overridden: bool) -> bool:
    """Return whether the mode is one of these; in a `temp_override`, the active object must be in object mode, too."""
    if not modes or bpy.context.mode not in modes:
        return False
    active = bpy.context.view_layer.objects.active if overridden else None
    return active is None or active.mode == "OBJECT"


_closed = closed("whether what the script holds is still there")


class Stale:
    """Finds and invalidates the references of one run. Call `open` before the script runs, `close` after it."""

    def __init__(self, refuse: Callable[[str], NoReturn], *, cuts: bool = True) -> None:
        """`refuse` ends the run with a message; `cuts`: whether references may be cut off by writing into memory."""
        self.refuse = refuse
        self._cuts = cuts
        self.held = Held(ANY, ANY_OR_INSIDE)
        self.hidden = Hidden(Now)
        self.drawn = MeshLoops()
        parts.prepare()
        self._variables: dict[str, Any] = {}
        self._kinds = KindsByPointer()
        self._pending = self._aliased = self._keyed = False
        self._harmless = _NONE
        """The modes in which the running operator may end if it frees and moves nothing."""
        self._owned: list[tuple[Any, Any]] = []
        self._parts: list[Any] = []
        self.properties = PropertyParts()
        self.touched_collections = False
        """Whether the script has used what few calls free: what follows the collections, or a text's lines."""
        self.made = OwnMeshes(self.held, self._writing)
        self.touched_evaluated = False
        """Whether the script has used a depsgraph, and so may have evaluated copies."""
        self.evaluations = 0
        self.touched_layers = False
        """Whether the script has used layers of a BMesh whose values are references."""
        self.watched = LayerValues()
        self.touched_edit_meshes = False
        """Whether the script has used the BMesh of edit mode."""
        self._edited: list[tuple[Any, int]] = []
        """Each BMesh of edit mode that the script got, with its address: Blender frees it at the end of edit mode."""
        self.touched_arrays = False
        """Whether the script has used parts of meshes, or other arrays that are shared with copies."""
        self._shared: list[sharing.ArrayReferences] = []
        self.layers = LayerReferences(self.held, self._writing)
        self._lent: bmesh_layers.MeshPointers | None = None
        self._memory: list[Any] = []
        self.lending: dict[int, set[int]] = {}
        """The addresses of the objects that a loop has lent to the script, by the id of the loop's current instance."""

    def open(self, variables: dict[str, Any]) -> None:
        """Prepare for a script; `variables` are its globals."""
        self._variables = variables
        if not layout.are_known():
            self.refuse(
                "this Blender lays out its references in an unknown way: no script can run safely in it"
            )
        memory.allow(self._cuts)
        memory.disown_context()
        self.held.open(variables)

    def close(self) -> None:
        """Clean up when the script is over."""
        memory.allow(False)
        self.held.close()
        self.made.close()

    @_closed
    def read_fragile(self, *, aliases: bool) -> None:
        """Do a delayed sweep before a script uses an element of a growing array; `aliases`: it gets a view of it."""
        if self._pending:
            self._sweep()
        self._aliased = self._aliased or aliases

    @_closed
    def after_growth(self, of: Any = None) -> None:
        """Sweep after items of `of` have moved; later, in `read_fragile`, if the script has no view of their memory."""
        if of is not None:
            self.hidden.forget(of)
        if self._aliased:
            self._sweep()
        else:
            self._pending = True

    def read_keys(self) -> None:
        """Note that the script is about to get keyframes."""
        self._keyed = True

    def after_key(self) -> None:
        """Handle that a keyframe was inserted, or a curve updated, which moves the curve's keyframes."""
        if self._keyed:
            self.after_growth()

    @_closed
    def before_removal(self, *, evaluates: bool = False) -> None:
        """Note whose parts the script holds, before a step that may remove data-blocks: afterwards nobody can tell.

        Evaluated copies lose parts, too: they stay the same data-blocks when Blender evaluates the scene again.
        """
        memory.disown_context()  # nothing that a script gets through the context refers to a freed scene
        self.evaluations += evaluates
        if self.touched_edit_meshes:
            self.before_move()
        held, now = self.held.find(ROOTED), Now()
        self._parts = [value for value in held if PARTS[type(value)]]
        self._owned += [(reference, self._owner(reference, now)) for reference in references(held)]

    @_closed
    def after_removal(self) -> None:
        """Cut off the parts of removed data-blocks; Blender itself cuts off the data-blocks only."""
        self._cut_off_removed()
        self._cut_off(self.properties.gone(self._parts))
        self._parts.clear()

    def watch(self) -> None:
        """Note from now on each value that the script reads of a BMesh layer whose values are references."""
        if not self.watched.active:
            self.watched.active = True
            native.guard_items(self._variables, ELEMENTS)

    def edit(self, mesh: Any) -> None:
        """Note a BMesh of edit mode before the script gets it."""
        self.touched_edit_meshes = True
        if all(mesh is not known for known, _address in self._edited):
            self._edited.append((mesh, layout.address_of_mesh(mesh)))

    @_closed
    def before_move(self) -> None:
        """Note what the script holds of BMesh layers and coordinates that are about to move or go."""
        lent = self.held.find(LENT)
        meshes = [value for value in lent if type(value) is bmesh.types.BMesh]
        loose = [value for value in lent if type(value) is not bmesh.types.BMesh and is_loose(value)]
        self._lent = bmesh_layers.note(loose, meshes)

    @_closed
    def after_move(self) -> None:
        """Renew the noted values of BMeshes after their layers or coordinates have moved."""
        if self._lent is not None:
            lent, self._lent = self._lent, None
            with self._writing():
                self._memory += lent.renew()

    def _cut_off_removed(self) -> None:
        if self._lent is not None:
            self.after_move()
        for mesh, address in [each for each in self._edited if not each[0].is_valid]:
            self._edited.remove((mesh, address))
            with self._writing():
                memory.forget_mesh(address, self.held.find(PARTS_OF_MESH))
        if self._owned:
            owned, now = self._owned, Now()
            self._owned = []
            self._cut_off(reference for reference, owner in owned if self._is_removed(reference, owner, now))

    def _is_removed(self, reference: Any, owner: Any, now: Now) -> bool:
        """Return whether a reference is gone with its data-block, or with the data-block's earlier evaluation."""
        if owner is None:
            return self._is_gone(reference, now)
        try:
            return owner.session_uid is None or (
                self.touched_evaluated and owner.is_evaluated and self._is_gone(reference, now)
            )
        except Exception:  # usually a ReferenceError: the data-block was removed
            return True

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """End the run if a reference cannot be cut off inside this context: the script could use it."""
        try:
            yield
        except memory.CannotCut as why:
            self.refuse(
                f"a reference that the script still holds to something removed cannot be invalidated: {why}"
            )

    def _cut_off(self, references: Iterable[Any]) -> None:
        for reference in references:
            with self._writing():
                memory.cut_off(reference)

    def evaluate(self) -> None:
        """Check each write from now on: the script gets a depsgraph, so a value may be an evaluated copy."""
        if not self.touched_evaluated:
            self.touched_evaluated = True
            native.guard_writes(self._variables, STRUCT)

    def writes_natively(self, kind: type) -> bool:
        """Return whether a script may write attributes of this type without a check of what the write moves."""
        return not (self.touched_evaluated or (self.layers.used and issubclass(kind, _FLAGGED)))

    def read_layers(self) -> None:
        """Look for layers from now on wherever a write or a function may make one: the script gets layers."""
        if not self.layers.used:
            self.layers.used = True
            native.guard_writes(self._variables, _FLAGGED)

    def share(self, kind: type, name: str) -> None:
        """Note that the script reads arrays that copies share, and let it read these natively from now on."""
        self.touched_arrays = True
        native.reads_natively(self._variables, name, kind)

    @_closed
    def before_sharing(self) -> None:
        """Note references to arrays before copies share them: the next look at such an array moves its items."""
        if self.touched_arrays:
            found = [(each, self._array_of(each)) for each in references(self.held.find(BLENDERS))]
            self._shared = sharing.note([each for each in found if each[1]])

    @_closed
    def after_sharing(self) -> None:
        """Point the noted references at their items, after copies may share the arrays."""
        with self._writing():
            while self._shared:
                self._shared.pop().follow()

    def _array_of(self, reference: Any) -> str:
        """Return the root of items of arrays that copies may share, also for a collection or array of one; else ""."""
        kind = type(reference)
        if issubclass(kind, STRUCT):
            return SHARED_ROOT[kind]
        struct = layout.pointers(reference).struct
        return SHARED_ROOT[self._kinds[struct]] if struct else ""

    @_closed
    def let_go(self, lent: set[int]) -> None:
        """Cut off the objects at these addresses, and everything that is known to be theirs."""
        self._cut_off(
            reference
            for reference in references(self.held.find(BLENDERS))
            if not lent.isdisjoint(layout.pointers(reference)[::2])
        )

    @contextlib.contextmanager
    def one_moment(self) -> Iterator[None]:
        """Search once for what the script holds. None of its code runs inside: C code may not call it (`reentry`)."""
        self._begin_moment()
        try:
            yield
        finally:
            self._end_moment()

    @_closed
    def _begin_moment(self) -> None:
        self.held.begin_moment()

    @_closed
    def _end_moment(self) -> None:
        self.held.end_moment()

    @_closed
    def before_operator(self, idname: str, *, overridden: bool) -> None:
        """Note what an operator may free, before it runs; `overridden`: whether it runs within a `temp_override`.

        A moment as in `one_moment` begins here, and ends in `after_operator`.
        """
        self.held.begin_moment()
        self.layers.forget()
        self.hidden.before(idname)
        if self.drawn.loops:
            self.drawn.before()
        began, ends = freeing.harmless_in(idname, meshes=self.touched_arrays or self.touched_edit_meshes)
        self._harmless = ends if _is_in(began, overridden) else _NONE
        if self.touched_arrays:
            self.before_sharing()
        if self.touched_evaluated or not freeing.spares_blocks(idname):
            self.before_removal(evaluates=True)
        elif self.touched_edit_meshes and not idname.startswith(freeing.KEEPING_ELEMENTS):
            self.before_move()

    @_closed
    def after_operator(self, idname: str, *, overridden: bool) -> None:
        """Cut off what an operator has freed, after it ran, and end the moment."""
        # Most operators touch none of these, and to call each method all the same costs much of a short operator.
        if self.hidden.noted:
            self.hidden.after(idname)
        if self.drawn.loops:
            self.drawn.after()
        if self._shared:
            self.after_sharing()
        self._parts.clear()
        self._cut_off_removed()
        if not _is_in(self._harmless, overridden):
            self._sweep()
        elif self._keyed:
            self.after_growth()  # objects that were moved get keyframes if Blender inserts these automatically
        self.held.end_moment()

    @_closed
    def sweep(
        self, there: tuple[Any, ...] = (), roots: frozenset[str] | None = None, *, of: Any = None
    ) -> None:
        """Cut off every reference (to items under `roots`) whose item is gone.

        It does not look for items that are certainly `there`, such as a new item and the collection of it: this would
        often be the only search. `of`: the data-block whose items may have been freed, if that is known.
        """
        self.hidden.forget(of)
        self._sweep(there, roots)

    def _sweep(self, there: tuple[Any, ...] = (), roots: frozenset[str] | None = None) -> None:
        self._pending = False
        self.layers.forget()
        held, now, known = self.held.find(ROOTED), Now(), frozenset(map(identity, there))
        self._cut_off(
            reference
            for reference in references(held)
            if identity(reference) not in known and self._is_gone(reference, now, roots)
        )
        held_parts = [value for value in held if PARTS[type(value)]]
        if held_parts or self.properties.noted:
            self._cut_off(self.properties.gone(held_parts))

    @_closed
    def after_property(self) -> None:
        """Cut off parts of custom properties after one with parts was replaced or removed."""
        self._cut_off(self.properties.gone(self.held.find(PARTS)))

    @_closed
    def after_inputs(self) -> None:
        """Cut off parts of custom properties after some that are seldom read may have been replaced."""
        if self.properties.noted:
            self.after_property()

    def _is_gone(self, reference: Any, now: Now, roots: frozenset[str] | None = None) -> bool:
        """Return whether nothing lies where a reference points, or that is unknown; read no memory there.

        Blender itself invalidates whole data-blocks; some other structs last as long as the program.
        """
        kind = type(reference)
        is_struct = issubclass(kind, STRUCT)
        try:
            item = reference.as_pointer() if is_struct else 0
        except ReferenceError:  # already cut off, or the data-block was removed
            return False
        try:
            if not is_struct or (owner := reference.id_data) is None:
                if memory.of_removed(kind):
                    return False
                found = layout.pointers(reference)
                kind, owner, item = self._kinds[found.struct], self._owner(reference, now, found), found.item
            root = ROOTS[kind]
            if root is None or (roots is not None and root not in roots):
                return False
            return not (now.has(owner, root, item, kind) or self.hidden.has(owner, root, item, kind))
        except Exception:
            return True

    def _owner(self, reference: Any, now: Now, found: layout.Pointers | None = None) -> Any:
        """Return the data-block of a reference, which certainly exists; None if it has none."""
        block, struct, _item = found or layout.pointers(reference)
        if struct == 0 or block == 0:
            return None
        # a function knows its data-block but does not show it
        return now.block(block) if type(reference) is bpy.types.bpy_func else reference.id_data
