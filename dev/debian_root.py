# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes root folders of Debian suites with Debian's own Blender, its window's needs and Python, for tests.

    .venv/bin/python dev/debian_root.py [--suite trixie|sid] [COMMAND …]

`trixie` (Debian 13) has Blender 4.3 and Python 3.13; `sid` (unstable) had Blender 5.2 and Python 3.14 when this was
written. Makes a missing root (a few minutes and 2 GB, shared by every checkout), and runs the command in it. Needs
Linux and root rights, for debootstrap and mounts. A command sees this checkout at its path, this machine's network,
and a /tmp of its own; killing it also kills everything that it started and removes its mounts.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from blenders import CACHE, ROOT, cache_lock

__all__ = ("ENVIRONMENT", "SUITES", "RootError", "command", "ensure")

#: The suites of the roots; the first one is the default.
SUITES = ("trixie", "sid")
_PACKAGES = (
    "blender",
    "bubblewrap",
    "imagemagick",
    "libegl1",
    "libgl1",
    "libgl1-mesa-dri",
    "python3-numpy",  # for glTF in Debian's Blender
    "tesseract-ocr",  # for reading the screen
    "xauth",
    "xdotool",
    "xvfb",
)
#: Suite -> packages that its Blender imports and that the Blender package does not name.
_MORE = {"sid": ("python3-cattr", "python3-requests")}

#: The environment of a command in the root: this machine's own has paths that do not exist there.
ENVIRONMENT = {"HOME": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

# $0 is the root, $1 the checkout, and the rest the command. The mounts live in the command's own mount namespace,
# where the root takes the place of this machine's: after a mere chroot nothing could be confined in it.
_ENTER = """
set -e
mount --bind "$0" "$0"
mount --rbind /dev "$0/dev"
mount -t proc proc "$0/proc"
mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"
mkdir -p "$0$1"
mount --bind "$1" "$0$1"
cd "$0"
pivot_root . mnt
umount -l /mnt
cd "$1"
shift
exec "$@"
"""


class RootError(Exception):
    """Tells that the root cannot be made or entered; the message says why."""


def command(root: Path, arguments: Sequence[str | Path]) -> list[str | Path]:
    """Return the command line that runs `arguments` in `root`."""
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--"]
    return [*unshare, "sh", "-c", _ENTER, root, ROOT, *arguments]


def ensure(suite: str = SUITES[0]) -> Path:
    """Return the folder of a suite's root; make it if it is missing. Hold `blenders.cache_lock` meanwhile.

    A root stays the same, even if the suite changes, as sid does: remove the folder to make a new one.

    Raises:
        RootError: this machine cannot make one.
    """
    recipe = hashlib.sha256(" ".join([suite, *_packages(suite)]).encode()).hexdigest()[:12]
    root = CACHE / f"{suite}-{recipe}"
    if not root.exists():
        _make(suite, root)
    return root


def _packages(suite: str) -> tuple[str, ...]:
    return _PACKAGES + _MORE.get(suite, ())


def _make(suite: str, root: Path) -> None:
    if os.geteuid() != 0:
        raise RootError(
            f"making the {suite} root needs root rights (debootstrap and mounts): run this as root"
        )
    if shutil.which("debootstrap") is None:
        _run(["apt-get", "update", "-q"])
        _run(["apt-get", "install", "-q", "-y", "--no-install-recommends", "debootstrap"])
    print(f"making a root of Debian {suite} with Blender in {root} …", flush=True)
    new = root.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    _run(["debootstrap", "--variant=minbase", suite, new])
    # Unstable's lists are valid for a week, and a mirror may be older; apt still checks their signatures.
    options = ["-q", "-y", "-o", "Acquire::Check-Valid-Until=false"]
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *options]
    _run(command(new, [*apt, "update"]))
    _run(command(new, [*apt, "install", "--no-install-recommends", *_packages(suite)]))
    _run(command(new, ["apt-get", "clean"]))
    _run(command(new, ["ln", "-s", "/proc/self/mounts", "/etc/mtab"]))  # Blender looks for it, and warns
    new.rename(root)


def _run(arguments: list[str | Path]) -> None:
    """Run a step of making the root; show its output only if it fails."""
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RootError(f"{' '.join(map(str, arguments))} failed:\n{done.stdout[-4000:]}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description="Make a root with Debian's Blender, and run a command in it."
    )
    parser.add_argument("--suite", choices=SUITES, default=SUITES[0], help="default: %(default)s")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run; without it, show the root")
    options = parser.parse_args(arguments)
    try:
        with cache_lock():
            root = ensure(options.suite)
    except RootError as error:
        print(error, file=sys.stderr)
        return 1
    print(root)
    if not options.command:
        return 0
    return subprocess.run(command(root, options.command), env=ENVIRONMENT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
