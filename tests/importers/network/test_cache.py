# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import filelock
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.importers.network.cache import IN_USE_S, STALE_PART_S, Cache
from bl_ext.user_default.mcp_bridge.importers.network.remote_file import RemoteFile
from bl_ext.user_default.mcp_bridge.importers.network.transport import Cancelled, Site

from support.services.web import Reply, Web

DATA = bytes(range(256)) * 4096
MD5 = hashlib.md5(DATA).hexdigest()

OTHER_BLENDER = """
import sys
from pathlib import Path
from bl_ext.user_default.mcp_bridge.importers.network.cache import Cache
from bl_ext.user_default.mcp_bridge.importers.network.remote_file import RemoteFile
from bl_ext.user_default.mcp_bridge.importers.network.transport import Site
site = Site("polyhaven", "Warehouse", "MCP_TEST_API", "https://api.warehouse.example", ())
print(Cache(Path(sys.argv[1]), quota=10**9).file(site, RemoteFile(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
"""


@pytest.fixture
def cache(folder: Path) -> Cache:
    return Cache(folder, quota=10**9)


@pytest.fixture
def remote(web: Web) -> RemoteFile:
    return RemoteFile(**web.add_file("/file", DATA))


def names(folder: Path) -> list[str]:
    """What is in the cache besides its empty locks."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    assert all(path.stat().st_size == 0 for path in found if path.suffix == ".lock")
    return sorted(path.name for path in found if path.suffix != ".lock")


def start_other(folder: Path, remote: RemoteFile) -> subprocess.Popen[str]:
    """The same cache used by another process, without Blender: these rooms need none."""
    extension = Path(sys.modules[Cache.__module__].__file__).parents[2]
    libraries = Path(filelock.__file__).parents[1]
    code = f"""
import importlib.machinery, sys, types
sys.path.append({str(libraries)!r})
def package(name, folder):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [folder]
package("bl_ext", ""); package("bl_ext.user_default", "")
package("bl_ext.user_default.mcp_bridge", {str(extension)!r})
package("bl_ext.user_default.mcp_bridge.importers", {str(extension / "importers")!r})
{OTHER_BLENDER}"""
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder), remote.url, remote.md5, str(remote.size)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_file_is_fetched_once(cache: Cache, site: Site, web: Web, remote: RemoteFile, folder: Path) -> None:
    path = cache.file(site, remote)
    assert path.read_bytes() == DATA
    assert cache.file(site, remote) == path
    assert len(web.seen) == 1
    assert names(folder) == [MD5]


def test_a_damaged_file_is_fetched_anew(cache: Cache, site: Site, web: Web, remote: RemoteFile) -> None:
    path = cache.file(site, remote)
    path.write_bytes(DATA[:100])
    assert cache.file(site, remote).read_bytes() == DATA
    assert len(web.seen) == 2


@pytest.mark.parametrize(
    "reply", [Reply(DATA[::-1]), Reply(DATA, cut=1000), Reply(b"", 404), Reply(DATA[:-1])]
)
def test_a_failed_transfer_leaves_nothing_and_does_not_stand_in_the_way(
    cache: Cache, site: Site, web: Web, remote: RemoteFile, folder: Path, reply: Reply
) -> None:
    good = web.routes["/file"]
    web.routes["/file"] = reply
    with pytest.raises(ExternalServiceError):
        cache.file(site, remote)
    assert names(folder) == []
    web.routes["/file"] = good
    assert cache.file(site, remote).read_bytes() == DATA


def test_a_killed_process_leaves_a_part_that_the_next_one_continues(
    cache: Cache, site: Site, web: Web, remote: RemoteFile, folder: Path
) -> None:
    web.routes["/file"] = Reply(DATA, pause=0.02, piece=20_000, ranges=True)
    other = start_other(folder, remote)
    until = time.monotonic() + 60
    while not any(path.stat().st_size > 100_000 for path in folder.rglob("*.part")):
        assert time.monotonic() < until
        time.sleep(0.01)
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert names(folder) == [f"{MD5}.part"]
    assert cache.file(site, remote).read_bytes() == DATA
    assert int(web.seen[-1].headers["range"][6:-1]) > 100_000
    assert names(folder) == [MD5]


def test_of_two_processes_one_fetches_and_the_other_waits(
    cache: Cache, site: Site, web: Web, remote: RemoteFile, folder: Path
) -> None:
    web.routes["/file"] = Reply(DATA, pause=0.02, piece=40_000, ranges=True)
    other = start_other(folder, remote)
    while not web.seen:
        time.sleep(0.01)
    path = cache.file(site, remote)
    assert path.read_bytes() == DATA
    assert other.communicate(timeout=60)[0].strip() == str(path)
    assert len(web.seen) == 1


def test_waiting_for_another_process_can_be_cancelled(
    cache: Cache, site: Site, web: Web, remote: RemoteFile, folder: Path
) -> None:
    web.routes["/file"] = Reply(DATA, pause=1)
    other = start_other(folder, remote)
    while not web.seen:
        time.sleep(0.01)
    cancelled = threading.Event()
    threading.Timer(0.2, cancelled.set).start()
    with pytest.raises(Cancelled):
        cache.file(site, remote, cancelled=cancelled)
    other.kill()
    other.wait()


def test_the_quota_removes_what_was_not_used_for_longest(folder: Path, site: Site, web: Web) -> None:
    cache = Cache(folder, quota=250)
    files = []
    for number in range(3):
        files.append(cache.file(site, RemoteFile(**web.add_file(f"/{number}", bytes([number]) * 100))))
    assert all(path.exists() for path in files), "what is in use stays beyond the quota"
    for age, path in zip((30, 10, 20), files, strict=True):
        os.utime(path, (time.time() - IN_USE_S - age,) * 2)
    part = files[0].with_suffix(".part")
    part.write_bytes(b"x")
    os.utime(part, (time.time() - STALE_PART_S - 1,) * 2)
    cache.trim()
    assert [path.exists() for path in (*files, part)] == [False, True, True, False]
