# SPDX-License-Identifier: GPL-3.0-or-later
"""Foreign files opened in a really confined process."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.importers import environment
from bl_ext.user_default.mcp_bridge.importers.network.transport import Cancelled
from bl_ext.user_default.mcp_bridge.importers.opening import confined, foreign
from bl_ext.user_default.mcp_bridge.importers.work import Work
from bl_ext.user_default.mcp_bridge.sandbox import confinement

from support.services import assets
from support.services.traces import work_folders


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("assets")


@pytest.fixture
def runs() -> Iterator[Path]:
    """The folder that the supervisor's processes work in; it must be empty in the end."""
    folder = work_folders()
    before = set(folder.iterdir())
    yield folder
    assert set(folder.iterdir()) == before


def job(**changes: Any) -> dict[str, Any]:
    plain = {"format": "gltf", "file": "scene.gltf", "title": "Thing", "collections": []}
    return plain | {"size": None, "ground": False, "unwrap": True} | changes


def work(cancelled: threading.Event | None = None) -> Work:
    return Work(environment.asset_cache(), cancelled)


def files(folder: Path) -> dict[PurePosixPath, Path]:
    return {PurePosixPath(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def test_a_model_is_opened_in_confinement(made: Path, runs: Path, tmp_path: Path) -> None:
    scene = assets.gltf(made)
    with foreign.opened(work(), job(), files(scene.parent)) as clean:
        assert (clean.collection, clean.roots, clean.removed) == ("Thing", ("box",), {})
        assert clean.dimensions == pytest.approx((2, 1, 0.5), abs=1e-4)
        shutil.copy(clean.blend, tmp_path)
    assert not clean.blend.exists()


def test_a_file_that_is_none_is_told(made: Path, runs: Path, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"nothing")
    with (
        pytest.raises(ExternalServiceError, match="“Thing” can't be opened: "),
        foreign.opened(work(), job(), {PurePosixPath("scene.gltf"): path}),
    ):
        pass


def test_cancel_ends_the_process(made: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = threading.Event()
    threading.Timer(0.2, cancelled.set).start()
    with (
        pytest.raises(Cancelled),
        foreign.opened(work(cancelled), job(), files(assets.gltf(made).parent)),
    ):
        pass
    assert confinement.counts().running == 0


def test_an_import_that_is_late_brings_up_no_supervisor_anew(made: Path) -> None:
    late = work()
    confinement.shutdown()
    with (
        pytest.raises(ExternalServiceError, match="The supervisor is closed: no process can be started"),
        foreign.opened(late, job(), files(assets.gltf(made).parent)),
    ):
        pass
    assert confinement._current is None


@pytest.mark.parametrize(
    ("code", "text", "seconds"),
    [
        ("raise SystemExit(3)", "ended by exit code 3", 60.0),
        ("import os; os.abort()", "ended by killed by signal", 60.0),
        ("raise SystemExit('no such layer')", "exit code 1; it printed last: “.*no such layer”", 60.0),
        ("import time; time.sleep(60)", "longer than 300 s", 1.0),
        ("data = b'x' * (1 << 34)", "ended by|more memory", 60.0),
    ],
)
def test_a_program_that_fails_is_told(
    runs: Path, code: str, text: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "_TIME_S", seconds)
    folder = confinement.current().new_folder()
    (folder / "child.py").write_text(code)
    with pytest.raises(ExternalServiceError, match=text):
        confined.run(confinement.current(), "child.py", folder, None)
    shutil.rmtree(folder)


def test_what_the_child_says_is_looked_at(tmp_path: Path) -> None:
    nested, long = "[" * 100_000, '{"error": "' + "x" * (17 << 20) + '"}'
    for report in (
        nested,
        long,
        "",
        "[]",
        '{"collection": 1}',
        '{"collection": "x", "roots": 3}',
        '{"error": "no"}',
    ):
        with pytest.raises(ExternalServiceError, match="“Thing” can't be opened"):
            foreign._read(report.encode(), tmp_path, "Thing")
    good = '{"collection": "x", "roots": [], "dimensions": [], "removed": {}}'
    (tmp_path / "asset.blend").symlink_to("/etc/passwd")
    with pytest.raises(ExternalServiceError, match="wrote nothing"):
        foreign._read(good.encode(), tmp_path, "Thing")
