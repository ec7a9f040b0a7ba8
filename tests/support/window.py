# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Blender with its window, on a virtual screen in the Debian 13 root, driven as a user drives it.

`start` gives a `Window`: `run` reads and prepares state inside that Blender, `click`, `move` and `press` are
the user's hands, `picture` is what the user sees.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import blenders
import debian_root
import extension
from blenders import BUILD, ROOT
from support.blender import EXTENSION

__all__ = ("HEIGHT", "PICTURES", "SESSION", "WIDTH", "Screen", "Window", "program", "start")

WIDTH, HEIGHT = 1280, 800
PICTURES = BUILD / "pictures"

_FOLDER = BUILD / "window"
_AGENT = ROOT / "tests" / "support" / "window_agent.py"

#: A shell's text that starts the screen on the first free display, then the command that follows it.
SESSION = f"""
Xvfb -displayfd 3 -screen 0 {WIDTH}x{HEIGHT}x24 +extension GLX 3>/tmp/display 2>/dev/null &
until [ -s /tmp/display ]; do sleep 0.05; done
DISPLAY=":$(cat /tmp/display)" "$@" &
echo $! > /tmp/program.pid
wait $!
"""


class Window:
    """A running Blender with a window. Coordinates are in pixels from the screen's top left corner."""

    def __init__(self, process: subprocess.Popen[Any], log: Path, mailbox: Path) -> None:
        self._process = process
        self._log = log
        self._mailbox = mailbox
        self._numbers = itertools.count()
        self.screen = Screen(process)

    def run(self, code: str, *, timeout: float = 60.0) -> Any:
        """Run Python text on Blender's main thread, from a timer, and return what it assigned to `result`.

        Raises:
            AssertionError: the text raised; the message is Blender's traceback.
            TimeoutError: Blender did not answer in `timeout` seconds, or has ended.
        """
        letter = self._mailbox / f"{next(self._numbers):06}.py"
        part = letter.with_suffix(".new")
        part.write_text(code, encoding="utf-8")
        part.rename(letter)
        written = letter.with_suffix(".json")
        until = time.monotonic() + timeout
        while not written.exists():
            if (status := self._process.poll()) is not None:
                # As a shell says it: 128 and more is the number of a signal, and 128.
                raise TimeoutError(f"Blender has ended with status {status}:\n{self.log()[-4000:]}")
            if time.monotonic() > until:
                raise TimeoutError(f"Blender does not answer:\n{self.log()[-4000:]}")
            time.sleep(0.01)
        answer = json.loads(written.read_text(encoding="utf-8"))
        written.unlink()
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["result"]

    def serve(self) -> tuple[str, str]:
        """Start the extension's server, where it is not running, and return its URL and a token for it."""
        code = f"""
from {EXTENSION}.server import bridge
running = bridge.start()
result = [running.url, running.token]
"""
        url, token = self.run(code)
        return url, token

    def log(self) -> str:
        """Return what Blender has printed so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def picture(self, name: str) -> Path:
        """Take a picture of the screen, keep it as build/pictures/NAME.png, and return its path."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"{name}.png"
        self.screen.run("import", "-window", "root", path)
        return path

    def move(self, x: int, y: int) -> None:
        """Move the mouse."""
        self.screen.run("xdotool", "mousemove", "--sync", str(x), str(y))

    def click(self, x: int, y: int, *, button: int = 1) -> None:
        """Move the mouse there and click; `button` is 1 for left, 2 for middle, 3 for right."""
        self.move(x, y)
        time.sleep(0.1)  # Blender highlights what is under the mouse first, and only that takes the click
        self.screen.run("xdotool", "click", str(button))

    def press(self, *keys: str) -> None:
        """Press keys one after another, named as X names them: "n", "ctrl+z", "Escape"."""
        self.screen.run("xdotool", "key", "--delay", "50", *keys)

    def settle(self, seconds: float = 0.5) -> None:
        """Give Blender time to handle events and draw."""
        time.sleep(seconds)
        self.run("")


class Screen:
    """The processes inside the root that `process`, an `unshare` running SESSION, started."""

    def __init__(self, process: subprocess.Popen[Any]) -> None:
        self._enter = ["nsenter", f"--target={_child(process)}", "--mount", "--pid", "--root", "--wd=/"]

    def run(self, *arguments: str | Path) -> str:
        """Run a program on the screen, and return what it printed."""
        shell = 'DISPLAY=":$(cat /tmp/display)" exec "$@"'
        command = [*self._enter, "sh", "-c", shell, "sh", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, f"{arguments[0]} failed: {done.stderr}"
        return done.stdout

    def terminate(self) -> None:
        """Send SIGTERM to what SESSION started on the screen."""
        self.run("sh", "-c", "kill -TERM $(cat /tmp/program.pid)")


def _child(process: subprocess.Popen[Any]) -> int:
    """Return the process that `unshare` forked: the first one of the root's processes."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    until = time.monotonic() + 10
    while not children.read_text():
        if time.monotonic() > until:
            raise TimeoutError("the Debian 13 root did not come up")
        time.sleep(0.01)
    return int(children.read_text().split()[0])


def _install(root: Path) -> Path:
    """Install the extension for the root's Blender, and return the user folder: a template, to be copied."""
    user = _FOLDER / "user"
    blender = debian_root.command(root, ["blender", "-b", "--python"])
    extension.install(extension.build(), user, blender=blender)
    return user


def _environment(home: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a Blender in the root: nothing of this process's own."""
    folders = {
        "BLENDER_USER_RESOURCES": home / "blender",
        "HOME": home / "home",
        "MCP_BRIDGE_MAILBOX": home / "mailbox",
        "XDG_RUNTIME_DIR": home / "run",
    }
    for folder in folders.values():
        folder.mkdir(mode=0o700, exist_ok=True)
    own = {name: str(folder) for name, folder in folders.items()}
    return debian_root.ENVIRONMENT | {"LIBGL_ALWAYS_SOFTWARE": "1"} | own | dict(more)


def _prepare(name: str) -> tuple[Path, Path]:
    """Return the root, and an empty folder build/window/NAME with a Blender user folder in it."""
    with blenders.cache_lock():
        root = debian_root.ensure()
    home = _FOLDER / name
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(_install(root), home / "blender")
    return root, home


def _spawn(root: Path, home: Path, arguments: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:
    """Start Blender on a screen in the root; killing the process ends all that runs in there."""
    command = debian_root.command(root, ["sh", "-c", SESSION, "sh", "blender", *arguments])
    return subprocess.Popen(command, stderr=subprocess.STDOUT, **options)


@contextmanager
def start(name: str, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Iterator[Window]:
    """Start Blender with a window and the extension enabled; end it when the context is left.

    Args:
        name: of its folder under build/window/, which is emptied first; Blender's output is `log.txt` there.
        arguments: for Blender's command line. Of this machine's files the root sees those of the checkout alone.
        env: variables to add, such as BLENDER_PORT.
    """
    root, home = _prepare(name)
    log = home / "log.txt"
    command = ["--window-geometry", "0", "0", str(WIDTH), str(HEIGHT), "--python", _AGENT, *arguments]
    with log.open("wb") as output:
        process = _spawn(root, home, command, env=_environment(home, env or {}), stdout=output)
    try:
        window = Window(process, log, home / "mailbox")
        window.settle()  # the first picture takes seconds: shaders are compiled
        yield window
    finally:
        process.kill()
        process.wait()


@contextmanager
def program(
    name: str, *arguments: str | Path, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start Blender without a window (`blender -b …`); arguments as for `start`. Its output is the pipe `stdout`."""
    root, home = _prepare(name)
    environment = _environment(home, env or {})
    process = _spawn(root, home, ["-b", *arguments], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
