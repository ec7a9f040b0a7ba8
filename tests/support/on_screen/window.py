# SPDX-License-Identifier: GPL-3.0-or-later
"""Drives a real Blender with its window, on a virtual screen in a Debian root, as a user does.

`start` yields a `Window`: `run` reads and prepares state inside that Blender, `click`, `move` and `press` are the
user's hands, `picture` is what the user sees. The variable MCP_BRIDGE_SUITE names the suite of the Blender;
`dev/window.py` runs the tests with each.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
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
from blenders import BUILD
from support.on_screen import reading
from support.on_screen.reading import Rectangle
from support.running.blender import EXTENSION

__all__ = (
    "FOLDER",
    "HEIGHT",
    "SESSION",
    "SUITE",
    "TABS",
    "WIDTH",
    "Screen",
    "Window",
    "drawing",
    "picture_path",
    "program",
    "root",
    "start",
)

WIDTH, HEIGHT = 1280, 800
SUITE = os.environ.get("MCP_BRIDGE_SUITE", debian_root.SUITES[0])
PICTURES = BUILD / "pictures" / SUITE
#: The folder with a folder for each Blender that a test starts.
FOLDER = BUILD / "window" / SUITE

_AGENT = Path(__file__).resolve().with_name("window_agent.py")

#: The width of the strip of tabs at the right of a sidebar, at a scale of 1.
TABS = 32

_SHADE_PLAINLY = """
for workspace in bpy.data.workspaces:
    for area in workspace.screens[0].areas:
        for space in area.spaces:
            if space.type == 'VIEW_3D':
                space.shading.type = 'SOLID'
"""

#: The key codes of F1 to F10. By their names, a newer xdotool presses Alt with them.
_FUNCTION_KEYS = {f"F{number}": str(66 + number) for number in range(1, 11)}

#: A shell's text that starts the screen on the first free display, then the command that follows it.
SESSION = f"""
Xvfb -displayfd 3 -screen 0 ${{MCP_BRIDGE_SCREEN:-{WIDTH}x{HEIGHT}}}x24 +extension GLX 3>/tmp/display 2>/dev/null &
until [ -s /tmp/display ]; do sleep 0.05; done
DISPLAY=":$(cat /tmp/display)" "$@" &
echo $! > /tmp/program.pid
wait $!
"""


def picture_path(name: str) -> Path:
    """Return build/pictures/SUITE/NAME.png, and make its folder."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES / f"{name}.png"


class Window:
    """A running Blender with a window. Coordinates are in pixels from the screen's top left corner."""

    def __init__(
        self,
        process: subprocess.Popen[Any],
        log: Path,
        mailbox: Path,
        size: tuple[int, int] = (WIDTH, HEIGHT),
    ) -> None:
        #: The screen's width and height, which Blender's window fills.
        self.width, self.height = size
        self._process = process
        self._log = log
        self._mailbox = mailbox
        self._numbers = itertools.count()
        self.screen = Screen(process)
        #: Seconds spent on reading the screen, which a user does at a glance.
        self.read_s = 0.0
        #: The number of clicks.
        self.clicks = 0

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
                # A shell's exit code for a signal: 128 and the signal's number.
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
        """Start the extension's server if it does not run; return its URL and a token for it."""
        code = f"""
from {EXTENSION}.server import bridge
running = bridge.start()
result = [running.url, bridge.token_store().mint("Test")[1]]
"""
        url, token = self.run(code)
        return url, token

    def log(self) -> str:
        """Return what Blender has printed so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def picture(self, name: str) -> Path:
        """Take a picture of the screen, keep it as build/pictures/SUITE/NAME.png, and return its path."""
        path = picture_path(name)
        self.screen.run("import", "-window", "root", path)
        return path

    def look(self, part: Rectangle) -> str:
        """Return a text that changes when a part of the screen looks different."""
        crop = f"{part.width}x{part.height}+{part.x}+{part.y}"
        return self.screen.run(
            "import", "-window", "root", "-crop", crop, "+repage", "-format", "%#", "info:-"
        )

    def resize(self, width: int, height: int) -> None:
        """Give Blender's window this size in pixels, in the screen's top left corner."""
        self.width, self.height = width, height
        self.screen.run(
            "xdotool",
            "search",
            "--onlyvisible",
            "--class",
            "Blender",
            "windowsize",
            "--sync",
            str(width),
            str(height),
        )
        self.settle(1.0)

    @property
    def size(self) -> tuple[int, int]:
        """The width and height of Blender's window, in pixels."""
        return self.width, self.height

    def shade_plainly(self) -> None:
        """Draw the scene without materials: without a graphics card the first picture of one takes minutes."""
        self.run(_SHADE_PLAINLY)

    def show_workspace(self, name: str) -> None:
        """Show a workspace in the first window."""
        self.run(f"bpy.context.window_manager.windows[0].workspace = bpy.data.workspaces[{name!r}]")
        self.settle(0.1)  # it changes in the main loop's next turn,
        self.settle(0.1)  # and is drawn in the one after that

    def move(self, x: int, y: int) -> None:
        """Move the mouse."""
        self.screen.run("xdotool", "mousemove", "--sync", str(x), str(y))

    def click(self, x: int, y: int, *, button: int = 1) -> None:
        """Move the mouse there and click; `button` is 1 for left, 2 for middle, 3 for right."""
        self.move(x, y)
        self.settle(0.1)  # Blender highlights what is under the mouse first, and only that takes the click
        self.screen.run("xdotool", "click", str(button))
        self.clicks += 1

    def find(
        self,
        text: str,
        within: Rectangle | None = None,
        *,
        which: int = 0,
        turned: bool = False,
        timeout: float = 45.0,
    ) -> Rectangle:
        """Wait until a text can be read on the screen, and return its place.

        Args:
            within: the part of the screen to look at; a small part is read sooner.
            which: which one, from the top, if the text is in several places; -1 is the lowest.
            turned: whether the text runs downwards, as on tabs.

        Raises:
            AssertionError: it did not appear in `timeout` seconds; the message has the texts on the screen.
        """
        within = within or Rectangle(0, 0, self.width, self.height)
        until = time.monotonic() + timeout
        for way in itertools.cycle(reading.WAYS):
            began = time.monotonic()
            words = reading.words(self.screen.run, within, way, turned=turned)
            self.read_s += time.monotonic() - began
            if places := reading.find(words, text):
                return places[which]
            if time.monotonic() > until:
                read = " ".join(word.text for word in words)
                raise AssertionError(f"{text!r} is not in {self.picture('not-found')}, but: {read}")
        raise AssertionError("unreachable")

    def find_at_rest(self, text: str, within: Rectangle | None = None, *, which: int = 0) -> Rectangle:
        """Find a text that does not move: panels move while others above them come and go."""
        before, place = None, self.find(text, within, which=which)
        while place != before:
            self.settle(1.0)  # the extension updates its panels once a second
            before, place = place, self.find(text, within, which=which)
        return place

    def press_on(self, text: str, within: Rectangle | None = None, *, which: int = 0) -> None:
        """Click on a text, once it does not move."""
        self.click(*self.find_at_rest(text, within, which=which).middle)

    def region(self, kind: str = "UI", area: str = "VIEW_3D") -> Rectangle:
        """Return the place of an editor's region; by default of the sidebar of the 3D view."""
        found = self.run(
            f"area = next(a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == {area!r})\n"
            f"region = next(r for r in area.regions if r.type == {kind!r})\n"
            "result = [region.x, region.y, region.width, region.height]"
        )
        x, y, width, height = found
        return Rectangle(x, self.height - y - height, width, height)

    def open_tab(self, name: str = "MCP") -> Rectangle:
        """Open the sidebar of the 3D view and this tab in it; return the place of its panels."""
        self.run(
            "next(a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == 'VIEW_3D')"
            ".spaces[0].show_region_ui = True"
        )
        self.settle(1.0)
        sidebar = self.region()
        tabs = Rectangle(sidebar.x + sidebar.width - TABS, sidebar.y, TABS, sidebar.height)
        self.click(*self.find(name, tabs, turned=True).middle)
        self.settle()
        return Rectangle(sidebar.x, sidebar.y, sidebar.width - TABS, sidebar.height)

    def press(self, *keys: str) -> None:
        """Press keys one after another, named as X names them: "n", "ctrl+z", "Escape", "F3"."""
        named = ("+".join(_FUNCTION_KEYS.get(part, part) for part in key.split("+")) for key in keys)
        self.screen.run("xdotool", "key", "--delay", "50", *named)

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
            raise TimeoutError("the root did not come up")
        time.sleep(0.01)
    return int(children.read_text().split()[0])


def root() -> Path:
    """Return the root whose Blender is tested; make it if it is missing."""
    with blenders.cache_lock():
        return debian_root.ensure(SUITE)


@functools.cache
def _install(folder: Path) -> Path:
    """Install the extension for the Blender of a root, and return the user folder: a template, to be copied."""
    user = FOLDER / "user"
    blender = debian_root.command(folder, ["blender", "-b", "--python"])
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
    return debian_root.ENVIRONMENT | drawing() | own | dict(more)


def drawing() -> dict[str, str]:
    """Return the variables for drawing without a graphics card.

    The processor then compiles the shaders, which takes a minute: all Blenders of a suite share the compiled shaders.
    """
    shaders = FOLDER / "shaders"
    shaders.mkdir(parents=True, exist_ok=True)
    return {"LIBGL_ALWAYS_SOFTWARE": "1", "MESA_SHADER_CACHE_DIR": str(shaders)}


def _prepare(name: str) -> tuple[Path, Path]:
    """Return the root, and an empty folder FOLDER/NAME with a Blender user folder in it."""
    folder, home = root(), FOLDER / name
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(_install(folder), home / "blender")
    return folder, home


def _spawn(
    folder: Path, home: Path, arguments: Sequence[str | Path], **options: Any
) -> subprocess.Popen[Any]:
    """Start Blender on a screen in the root; killing the process ends all that runs in there."""
    command = debian_root.command(folder, ["sh", "-c", SESSION, "sh", "blender", *arguments])
    return subprocess.Popen(command, stderr=subprocess.STDOUT, **options)


@contextmanager
def start(
    name: str,
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    size: tuple[int, int] = (WIDTH, HEIGHT),
) -> Iterator[Window]:
    """Start Blender with a window and the extension enabled; end it when the context ends.

    Args:
        name: of its folder under FOLDER, which is emptied first; Blender's output is `log.txt` there.
        arguments: for Blender's command line. Of this machine's files the root sees only the checkout's.
        env: variables to add, such as BLENDER_PORT.
        size: of the screen and of the window, in pixels.
    """
    folder, home = _prepare(name)
    log = home / "log.txt"
    width, height = size
    command = ["--window-geometry", "0", "0", str(width), str(height), "--python", _AGENT, *arguments]
    environment = _environment(home, {"MCP_BRIDGE_SCREEN": f"{width}x{height}", **(env or {})})
    with log.open("wb") as output:
        process = _spawn(folder, home, command, env=environment, stdout=output)
    try:
        window = Window(process, log, home / "mailbox", size)
        for _ in range(2):  # the first answer may come before the first picture,
            window.run("", timeout=240.0)  # which takes long on a busy machine: shaders are compiled
        yield window
    finally:
        process.kill()
        process.wait()


@contextmanager
def program(
    name: str, *arguments: str | Path, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start Blender without a window (`blender -b …`); arguments as for `start`. The pipe `stdout` has its output."""
    folder, home = _prepare(name)
    environment = _environment(home, env or {})
    process = _spawn(folder, home, ["-b", *arguments], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
