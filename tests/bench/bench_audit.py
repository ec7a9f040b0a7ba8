# SPDX-License-Identifier: GPL-3.0-or-later
"""What the audit wall costs: the hook while it is down, as it is for all of Blender, and while a script runs."""

from __future__ import annotations

import importlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator

from bl_ext.user_default.mcp_bridge.sandbox.guard import audit
from bl_ext.user_default.mcp_bridge.sandbox.run import wall

from support.bench import Row
from support.running import fork

#: Modules of Python's own that nothing has loaded yet: files, folders and code, an event each.
_MODULES = """asyncore bdb cgi cmd code codeop compileall cProfile difflib dis doctest filecmp fileinput ftplib getopt
    imaplib mailbox mailcap modulefinder netrc nntplib optparse pdb pickletools plistlib poplib profile pstats
    py_compile pyclbr sched shelve smtplib sndhdr sqlite3 symtable tabnanny telnetlib timeit trace tracemalloc
     unittest wave xmlrpc.client xmlrpc.server zipapp""".split()
_EVENTS = 100_000
_ROUNDS = 7


def rows() -> Iterator[Row]:
    plain, down = [], []
    for _ in range(_ROUNDS):  # in turn, so that a busy moment falls on both
        plain.append(fork.run(_import, False))
        down.append(fork.run(_import, True))
    without, with_hook, events = min(plain), min(down), fork.run(_count)
    yield Row(
        f"import of {len(_MODULES)} modules, {events:,} events, hook down",
        with_hook / without,
        "× without",
        "≤ 1.01",
        f"{without * 1e3:.1f} ms without, {with_hook * 1e3:.1f} ms with",
    )
    for name, act, hooked, up in (
        ("an event without a hook", _free, False, False),
        ("an event, hook down", _free, True, False),
        ("an event that is free, hook up", _free, True, True),
        ("an event that is granted, hook up", _granted, True, True),
    ):
        taken = statistics.median(fork.run(_event, act, hooked, up) for _ in range(3))
        yield Row(name, taken * 1e6, "µs")
    yield Row("up and down again", statistics.median(fork.run(_switch) for _ in range(3)) * 1e6, "µs")


def _import(hooked: bool) -> float:
    """Seconds that the imports take."""
    if hooked:
        wall._install()
    begin = time.process_time()
    loaded = [_loaded(name) for name in _MODULES]
    taken = time.process_time() - begin
    assert sum(loaded) > 30
    return taken


def _loaded(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:  # newer Pythons have fewer
        return False
    return True


def _count() -> int:
    """The events that the imports raise."""
    count = 0

    def hook(_event: str, _details: object) -> None:
        nonlocal count
        count += 1

    sys.addaudithook(hook)
    for name in _MODULES:
        _loaded(name)
    return count


def _free() -> None:
    for _ in range(_EVENTS):
        id(None)


@audit.may_raise("sys._getframe")
def _granted() -> None:
    for _ in range(_EVENTS):
        sys._getframe()


def _event(act: Callable[[], None], hooked: bool, up: bool) -> float:
    if hooked:
        wall._install()
    if not up:
        return _timed(act)
    with wall.Armed(lambda error: None):
        return _timed(act)


def _timed(act: Callable[[], None]) -> float:
    begin = time.process_time()
    act()
    return (time.process_time() - begin) / _EVENTS


def _switch() -> float:
    wall._install()
    begin = time.process_time()
    for _ in range(1000):
        with wall.Armed(lambda error: None):
            pass
    return (time.process_time() - begin) / 1000
