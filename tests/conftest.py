# SPDX-License-Identifier: GPL-3.0-or-later
"""Every test runs inside a real Blender (the `bpy` module), against the extension as Blender installed it.

Before the first test is collected, `bpy` is imported with the user folder that `make test` filled, and the
extension is enabled. Tests import from `bl_ext.user_default.mcp_bridge`, and shared helpers from `support`.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_ROOT = Path(__file__).resolve().parent.parent
_EXTENSION = "bl_ext.user_default.mcp_bridge"

pytest.register_assert_rewrite("support")

# The same examples in every run, so that a change is what made a test fail; `make soak` looks for new ones.
#: A busy machine makes inputs slowly, and runs one example for long: that is no fault of a test.
_SLOW = {"suppress_health_check": (HealthCheck.too_slow,), "deadline": None}
settings.register_profile("suite", derandomize=True, print_blob=True, **_SLOW)
settings.register_profile("search", derandomize=False, print_blob=True, **_SLOW)
settings.load_profile("suite")


def _of_worker(user: Path, worker: str) -> Path:
    """Return the user folder of one of the processes that share the tests: a copy of `user`, made anew.

    Tests write into it: preferences, journals, caches.
    """
    own = user.with_name(f"{user.name}-{worker}")
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(user, own, symlinks=True)
    os.environ["BLENDER_USER_RESOURCES"] = str(own)
    return own


def _keep_to_itself() -> None:
    """Give this process a folder of its own for temporary files, and for the records of running Blenders.

    Other tests that run on this machine have theirs, so that none finds what another one has made.
    """
    shared = tempfile.gettempdir()
    own = tempfile.mkdtemp(prefix="tests-")
    os.chmod(own, 0o711)  # confined processes and a farm's workers are other users
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", shared)
    os.environ |= {"TMPDIR": own, "XDG_RUNTIME_DIR": own}
    os.environ["BLENDER_MCP_REHEARSE"] = "asking"  # else each script of a test would be rehearsed
    tempfile.tempdir = None


def _enable_extension() -> None:
    """Bring up Blender with the installed extension.

    Raises:
        pytest.UsageError: it is not installed, or does not come up.
    """
    user = Path(os.environ.setdefault("BLENDER_USER_RESOURCES", str(_ROOT / "build" / "user")))
    if not (user / "installed").exists():
        raise pytest.UsageError(f"the extension is not installed in {user}: run the tests by `make test`")
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        user = _of_worker(user, worker)
    _keep_to_itself()
    # Brought up on one processor, Blender's task pool gets no workers: a fork taken while one of them holds a lock
    # waits for it for ever, and tests fork this Blender thousands of times (support/running/fork.py).
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        import bpy
    finally:
        os.sched_setaffinity(0, processors)

    if Path(bpy.utils.resource_path("USER")) != user:
        raise pytest.UsageError("Blender was imported before BLENDER_USER_RESOURCES was set")
    import addon_utils  # Blender's own; found only after bpy is there

    failures: list[BaseException] = []
    addon_utils.enable(_EXTENSION, default_set=True, handle_error=failures.append)
    if failures:
        raise pytest.UsageError(f"{_EXTENSION} could not be enabled: {failures[0]!r}") from failures[0]


_exit_status: int | None = None


@atexit.register
def _end_without_freeing_blender() -> None:
    """End the process here: Blender's module frees its panels after Python has ended, and may crash at that.

    It does where anything keeps a reference to it to the end, as pytest does with parameters. What the tests register
    at exit has been called before, as it was registered later.
    """
    if _exit_status is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_exit_status)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(exitstatus: int) -> None:
    global _exit_status
    _exit_status = int(exitstatus)


_enable_extension()


_PACKAGE = _EXTENSION.rpartition(".")[2]
_ON_MAIN_THREAD = {"base/main_thread.py", "server/bridge.py", "operators/clients.py", "operators/server.py"}
_UNDER_THE_LOCK = {"approvals/approval_queue.py", "approvals/request_list.py"}


def _watch_the_disk() -> list[str]:
    """Have each wait for the disk looked at; gives the list of those where others wait with it, with their calls."""
    found: list[str] = []
    really = os.fsync

    def fsync(descriptor: int) -> None:
        # A path for each call, and no more: lines of source are read only where they are shown.
        files = {frame.f_code.co_filename for frame, _ in traceback.walk_stack(sys._getframe())}
        ours = {path.partition(f"/{_PACKAGE}/")[2] for path in files}
        # A test may run its loop on the main thread. What the main thread does meanwhile is not the loop's.
        on_loop = asyncio._get_running_loop() is not None and not ours & _ON_MAIN_THREAD
        if on_loop or ours & _UNDER_THE_LOCK:
            found.append("".join(traceback.format_stack(limit=12)))
        really(descriptor)

    os.fsync = fsync
    return found


_WAITS = _watch_the_disk()


@pytest.fixture
def waits_for_the_disk() -> list[str]:
    """The waits for the disk that no test may have, so far in this one."""
    return _WAITS


@pytest.fixture(autouse=True)
def _nobody_waits_for_the_disk_with_others() -> Iterator[None]:
    """Neither an event loop nor whoever holds the lock of the approval queue waits for the disk, in any test."""
    _WAITS.clear()
    yield
    assert _WAITS == []


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, object, object]:
    """What the processes that share the tests tell one another is UTF-8: half a pair of UTF-16 is written out."""
    return _encodable((yield))


def _encodable(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode("utf-8")
        case dict():
            return {_encodable(key): _encodable(each) for key, each in value.items()}
        case list() | tuple():
            return type(value)(map(_encodable, value))
    return value


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with a test that may take longer than others come first: at the end, one process alone is at work."""
    longest: dict[Path, float] = {}
    for item in items:
        marker = item.get_closest_marker("timeout")
        longest[item.path] = max(longest.get(item.path, 0), marker.args[0] if marker else 0)
    items.sort(key=lambda item: -longest[item.path])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Where most tests are to run, thousands of forks follow."""
    if len(session.items) > 1000 and sys.platform == "linux":
        from support.running import fork

        fork.make_cheap()


def extension_warnings() -> dict[str, list[str]]:
    """Return what Blender's own police has to say of the extensions that are loaded now; it should be {}."""
    import addon_utils

    addon_utils._extensions_warnings_get._is_first = True  # Blender looks once and keeps the answer
    return addon_utils._extensions_warnings_get()


@pytest.fixture(scope="session", autouse=True)
def _blenders_rules_hold() -> Iterator[None]:
    """Blender finds nothing to warn of, neither before the first test nor with all that the tests loaded."""
    assert extension_warnings() == {}
    yield
    assert extension_warnings() == {}


@pytest.fixture
def empty_scene() -> None:
    """Start from Blender's factory start-up file with every object removed; the extension stays enabled."""
    import bpy

    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
