# SPDX-License-Identifier: GPL-3.0-or-later
"""The data that the panel Assets shows, and the threads that fetch it, so that drawing never waits.

`view` is replaced, never changed. Threads put their results into the queue `_arrived`; a timer shows them on the main
thread. The timer runs only while threads work.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import bpy

from ...base import jobs, main_thread
from ...base.errors import BridgeError, PolicyError
from ...base.process import threads

if TYPE_CHECKING:
    from ...importers.browse import Entry, Page
    from ...importers.work import Work

__all__ = (
    "ALL",
    "OWNER",
    "Asked",
    "Question",
    "Target",
    "View",
    "ask",
    "change",
    "entry",
    "icon",
    "may_import",
    "register",
    "show_sizes",
    "start_job",
    "start_search",
    "unregister",
)

T = TypeVar("T")

#: The owner of the panel's jobs.
OWNER = jobs.PANEL
#: The entry for all categories: an item of a Blender enum must not have an empty name.
ALL = ("ALL", "All Categories", "")
_INTERVAL_S = 0.2
#: How many entries one thread looks up.
_PART = 4


@dataclass(frozen=True, slots=True)
class Target:
    """Where an asset goes: a model to `location`, or to the 3D cursor if None; a texture onto objects, by name."""

    location: tuple[float, ...] | None = None
    onto: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the user about a large download, and what is needed to continue after the answer."""

    id: str
    text: str
    target: Target = Target()
    #: The password that the user entered; kept until the answer.
    password: str = field(default="", repr=False)


class Asked(PolicyError):
    """Ends the work because the user must answer a question first."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.text)
        self.question = question


@dataclass(frozen=True, slots=True)
class View:
    """Everything that the panel shows. `cursors` are those of the pages so far; the last one is the page on show."""

    entries: tuple[Entry, ...] = ()
    cursors: tuple[str, ...] = ("",)
    next_cursor: str = ""
    #: The text during a search, else "".
    searching: str = ""
    error: str = ""
    done: str = ""
    job: jobs.Job | None = None
    question: Question | None = None
    #: Id of an entry -> the size of its download as a text, if it is known.
    sizes: Mapping[str, str] = field(default_factory=dict)
    #: Ids of the user's favourites.
    favourites: frozenset[str] = frozenset()
    #: The balance of the account that generates models, if the service tells it.
    balance: str = ""
    #: The result of testing a service's key.
    key_said: str = ""
    #: Poly Haven's categories as items of an enum: (path, name, description).
    categories: tuple[tuple[str, str, str], ...] = (ALL,)


view = View()
_arrived: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
_busy = 0
_latest = 0
_latest_sizes = 0
_stopped = threading.Event()
_icons: Any = None


def change(**changes: Any) -> None:
    """Replace members of the view, and redraw the sidebars. Main thread."""
    global view
    view = replace(view, **changes)
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            for region in area.regions if area.type == "VIEW_3D" else ():
                if region.type == "UI":
                    region.tag_redraw()  # not the whole area: drawing the scene may take long


def entry(asset_id: str) -> Entry | None:
    """The entry of this asset on the page; None if the page does not show it."""
    return next((one for one in view.entries if one.id == asset_id), None)


def may_import(operator: type[bpy.types.Operator]) -> bool:
    """Whether an import may begin now, for an operator's `poll`; while another one runs, the tooltip says so."""
    if view.job is not None:
        operator.poll_message_set("Another import is at work")
    return view.job is None


def icon(entry: Entry) -> int:
    """The icon id of the entry's thumbnail; 0 until it is loaded."""
    return _icons[entry.id].icon_id if _icons is not None and entry.id in _icons else 0


def ask(do: Callable[[Work], Any], then: Callable[[Any], None], *, failed: Callable[[str], None]) -> None:
    """Call `do`, a short use of the network, in a thread; then `then` or `failed` on the main thread."""
    _in_thread(lambda: do(_work(_stopped, lambda _percent, _message: None)), then, failed)


def start_search(
    find: Callable[[Work], Page], cursors: tuple[str, ...], resolution: Callable[[], str]
) -> None:
    """Search, and show the page that is found; of several searches only the last one counts.

    When the page is there, `resolution` gives the resolution for which the sizes are shown.
    """
    global _latest
    _latest = number = _latest + 1

    def show(page: Page) -> None:
        if number == _latest:
            change(entries=page.entries, cursors=cursors, next_cursor=page.next_cursor, searching="")
            _fetch_thumbnails(page.entries, number)
            show_sizes(resolution())

    def failed(message: str) -> None:
        if number == _latest:
            change(searching="", error=message)

    change(searching="Searching…", error="", done="")
    ask(find, show, failed=failed)


def start_job(title: str, do: Callable[[Work], str]) -> None:
    """Call `do`, which takes long, in a thread, with progress and cancel. It returns the text to show at the end."""
    handle = jobs.registry.begin("import", title, OWNER)
    main_thread.start()  # imports need it, also while no assistant can connect

    def run() -> str | Question:
        try:
            return do(_work(handle.cancelled, report))
        except Asked as asked:
            return asked.question

    def finished(found: str | Question) -> None:
        handle.complete(found)
        asked = isinstance(found, Question)
        change(job=None, done="" if asked else found, question=found if asked else None)

    def failed(message: str) -> None:
        handle.fail(message)
        change(job=None, error="" if handle.cancelled.is_set() else message)

    def report(percent: float, message: str) -> None:
        handle.report(percent, 100.0, message)

    change(job=jobs.registry.get(handle.id, OWNER), error="", done="", question=None)
    _in_thread(run, finished, failed)


def _work(cancelled: Any, report: Callable[[float, str], None]) -> Work:
    from ...importers import environment
    from ...importers.work import Work

    return Work(environment.asset_cache(), cancelled, report)


def _in_thread(do: Callable[[], Any], then: Callable[[Any], None], failed: Callable[[str], None]) -> None:
    global _busy

    def run() -> None:
        try:
            result = do()
        except BridgeError as error:
            message = str(error)
            _arrived.put(lambda: failed(message))
        except Exception as error:  # any error: the panel must not wait for ever
            message = f"{type(error).__name__}: {error}"
            _arrived.put(lambda: failed(message))
        else:
            _arrived.put(lambda: then(result))

    _busy += 1
    threads.start(run, name="assets")
    if not bpy.app.timers.is_registered(_tick):
        bpy.app.timers.register(_tick, first_interval=_INTERVAL_S, persistent=True)


def _tick() -> float | None:
    """Show the results that have arrived; the timer ends when no thread works."""
    global _busy
    while not _arrived.empty():
        _busy -= 1
        _arrived.get()()
    now = jobs.registry.get(view.job.id, OWNER) if view.job is not None else None
    if now != view.job:
        change(job=now)
    return _INTERVAL_S if _busy else None


def _fetch_thumbnails(entries: tuple[Entry, ...], number: int) -> None:
    from ...importers import browse, environment

    folder = environment.thumbnails()

    def fetch(work: Work, entry: Entry) -> Path | None:
        return browse.thumbnail(work, entry, folder) if number == _latest else None

    def show(found: dict[str, Path | None]) -> None:
        for entry_id, path in found.items():
            if path is not None and _icons is not None and entry_id not in _icons:
                _icons.load(entry_id, str(path), "IMAGE")
        change()

    _by_parts([entry for entry in entries if not icon(entry)], fetch, show)


def show_sizes(resolution: str) -> None:
    """Find the size of the download for each entry on the page, if its service tells the size."""
    global _latest_sizes
    from ...importers import sizes

    _latest_sizes = number = _latest_sizes + 1
    entries = view.entries

    def find(work: Work, entry: Entry) -> str:
        try:
            return sizes.download_size(work, entry, resolution) if number == _latest_sizes else ""
        except BridgeError:
            return ""

    def show(found: dict[str, str]) -> None:
        if number == _latest_sizes:
            change(sizes={**view.sizes, **found})

    change(sizes={})
    _by_parts(entries, find, show)


def _by_parts(
    entries: Sequence[Entry], look_up: Callable[[Work, Entry], T], show: Callable[[dict[str, T]], None]
) -> None:
    """Call `look_up` for all entries, a few in each thread, so that the first results appear soon."""

    def find(work: Work, part: Sequence[Entry]) -> dict[str, T]:
        return {entry.id: look_up(work, entry) for entry in part}

    for begin in range(0, len(entries), _PART):
        ask(partial(find, part=entries[begin : begin + _PART]), show, failed=lambda _message: None)


def register() -> None:
    """Create the collection of the thumbnails' icons."""
    global _icons
    import bpy.utils.previews

    _stopped.clear()
    _icons = bpy.utils.previews.new()


def unregister() -> None:
    """Cancel the running work, and clear the view."""
    global view, _icons, _busy
    _stopped.set()
    if view.job is not None:
        jobs.registry.cancel(view.job.id, OWNER)
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
    if _icons is not None:
        bpy.utils.previews.remove(_icons)
    view, _icons, _busy = View(), None, 0
