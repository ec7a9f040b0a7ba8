# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetches the libraries that the extension bundles into wheels/: pinned, by hash, and for every platform.

    .venv/bin/python dev/libraries.py

Does nothing, without a network, if wheels/ already has exactly the files of dev/wheels.lock.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from blenders import DEFAULT, ROOT

__all__ = ("fetch", "file_name", "locked")

LOCK = ROOT / "dev" / "wheels.lock"
WHEELS = ROOT / "wheels"

_PIN = re.compile(r"(?P<name>[\w.-]+)==(?P<version>\S+) --hash=sha256:(?P<sha256>[0-9a-f]{64})")


def file_name(name: str, version: str) -> str:
    """Return the file name of the wheel that runs on every platform."""
    return f"{name}-{version}-py3-none-any.whl"


def locked(lock: str) -> dict[str, str]:
    """Return {wheel file name: sha256} of a lock file's text.

    Raises:
        ValueError: a line is neither a comment nor `name==version --hash=sha256:…`.
    """
    wanted = {}
    for line in lock.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        pin = _PIN.fullmatch(line.strip())
        if pin is None:
            raise ValueError(f"not `name==version --hash=sha256:…`: {line!r}")
        wanted[file_name(pin["name"], pin["version"])] = pin["sha256"]
    return wanted


def present(folder: Path) -> dict[str, str]:
    """Return {file name: sha256} of the files in `folder`."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*")}


def fetch(lock: Path = LOCK, folder: Path = WHEELS, options: Sequence[str] = ()) -> None:
    """Fill `folder` with the files that `lock` names, and nothing else; `options` go to `pip download`.

    The platform, implementation and ABI are forced: pip would otherwise take the compiled `websockets`.

    Raises:
        SystemExit: pip could not get a file, or its hash differs from the lock; the message is pip's.
    """
    wanted = locked(lock.read_text(encoding="utf-8"))
    folder.mkdir(exist_ok=True)
    if present(folder) == wanted:
        return
    print("fetching the bundled libraries …", flush=True)
    for path in folder.iterdir():
        path.unlink()
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download"]
    command += ["--no-deps", "--only-binary", ":all:", "--platform", "any", "--implementation", "py"]
    command += ["--abi", "none", "--python-version", DEFAULT.python, "--require-hashes"]
    command += [*options, "--dest", str(folder), "--requirement", str(lock)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"pip could not fetch what {lock.name} names:\n{done.stdout[-4000:]}")


if __name__ == "__main__":
    fetch()
