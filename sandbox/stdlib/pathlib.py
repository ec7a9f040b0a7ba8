# SPDX-License-Identifier: GPL-3.0-or-later
"""`pathlib` for scripts: paths are text (Python's PurePosixPath and PureWindowsPath), without files behind them."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from ..facts.reasons import why_member
from ..guard.facade import Facade, hide
from ..guard.seam import Guard
from .disk import Disk

__all__ = ("LONGEST", "Path", "pathlib_members", "text_of")

LONGEST: Final = 10_000
"""The most characters that a path may have."""
_TEXTS: Final = ("name", "stem", "suffix", "drive", "root", "anchor")
_CHANGES: Final = ("with_name", "with_stem", "with_suffix", "joinpath", "relative_to")
_SAME: Final = ("absolute", "expanduser", "resolve")
_ASKING: Final = ("exists", "is_dir", "is_file", "is_mount", "is_symlink")
_FILES: Final = (
    *(
        "chmod",
        "group",
        "hardlink_to",
        "iterdir",
        "open",
        "owner",
        "read_bytes",
        "read_text",
        "readlink",
    ),
    *(
        "rename",
        "replace",
        "rmdir",
        "samefile",
        "stat",
        "lstat",
        "symlink_to",
        "touch",
        "unlink",
        "walk",
    ),
    *("write_bytes", "write_text"),
)
"""Methods that raise an error when a script calls them."""


def text_of(guard: Guard, path: Any) -> str:
    """Return a path as text. Raises TypeError for any other value."""
    if isinstance(path, Path):
        return str(path)
    if type(path) is not str:
        raise TypeError(f"expected str or os.PathLike object, not {type(path).__name__}")
    if len(path) > LONGEST:
        guard.meter.exceed(f"a path of more than {LONGEST:,} characters is over the limit", limit="sequence")
    return path


class Path(Facade):
    """The path that `pathlib.Path(…)` returns."""

    __slots__ = ("guard", "pure")

    def __init__(self, guard: Guard, pure: pathlib.PurePath) -> None:
        _set_guard(self, guard)
        _set_pure(self, pure)

    # Text

    def __str__(self) -> str:
        return str(_pure(self))

    __fspath__ = __str__

    def __repr__(self) -> str:
        return repr(_pure(self)).removeprefix("Pure")

    def as_posix(self) -> str:
        """Return the path as text with forward slashes."""
        return str(_pure(self).as_posix())

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the path: root, folders and name."""
        return tuple(_pure(self).parts)

    @property
    def suffixes(self) -> list[str]:
        """The name's suffixes, such as `[".tar", ".gz"]`."""
        return list(_pure(self).suffixes)

    # Other paths

    def __truediv__(self, other: Any) -> Path:
        return (
            _of(self, (str(self), text_of(_guard(self), other)))
            if isinstance(other, Path | str)
            else NotImplemented
        )

    def __rtruediv__(self, other: Any) -> Path:
        return _of(self, (text_of(_guard(self), other), str(self))) if type(other) is str else NotImplemented

    @property
    def parent(self) -> Path:
        """The path of the folder above."""
        return Path(_guard(self), _pure(self).parent)

    @property
    def parents(self) -> tuple[Path, ...]:
        """The paths of all folders above, nearest first."""
        return tuple(Path(_guard(self), each) for each in _pure(self).parents)

    def is_absolute(self) -> bool:
        """Return whether the path has a root."""
        return bool(_pure(self).is_absolute())

    def is_relative_to(self, other: Any) -> bool:
        """Return whether the path begins with `other`."""
        return bool(_pure(self).is_relative_to(text_of(_guard(self), other)))

    # Comparison

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and bool(_pure(self) == _pure(other))

    def __hash__(self) -> int:
        return hash(_pure(self))

    def __lt__(self, other: Any) -> bool:
        return bool(_pure(self) < _pure(other)) if isinstance(other, Path) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return bool(_pure(self) <= _pure(other)) if isinstance(other, Path) else NotImplemented

    # Files

    def glob(self, _pattern: Any, **_options: Any) -> Iterator[Path]:
        """Return an empty iterator: a script sees no files."""
        _disk(self).has(self)
        return iter(())

    rglob = glob

    def mkdir(self, *_mode: Any, **_options: Any) -> None:
        """Make no folder, and note the attempt."""
        _disk(self).make_folder()


_guard, _set_guard = hide(Path, "guard")
_pure, _set_pure = hide(Path, "pure")


def _of(like: Path, texts: tuple[str, ...]) -> Path:
    pure = type(_pure(like))(*texts)
    text_of(_guard(like), str(pure))
    return Path(_guard(like), pure)


def _disk(path: Path) -> Any:
    return Disk(_guard(path))


def _text(name: str) -> property:
    return property(lambda self: getattr(_pure(self), name), doc=f"`path.{name}`.")


def _change(name: str) -> Callable[..., Path]:
    def change(self: Path, *texts: Any) -> Path:
        pure = getattr(_pure(self), name)(*(text_of(_guard(self), each) for each in texts))
        return _of(self, (str(pure),))

    return change


def _same(self: Path, *_arguments: Any, **_named: Any) -> Path:
    return self


def _ask(self: Path, **_named: Any) -> bool:
    return bool(_disk(self).has(self))


def _refuse(name: str) -> Callable[..., None]:
    def refuse(self: Path, *_arguments: Any, **_named: Any) -> None:
        why = why_member("pathlib", name)
        _guard(self).meter.refuse(
            f"pathlib.Path.{name}() is not available to scripts: {why}", code="attribute"
        )

    return refuse


for _names, _make in ((_TEXTS, _text), (_CHANGES, _change), (_FILES, _refuse)):
    for _name in _names:
        setattr(Path, _name, _make(_name))
for _name in _SAME:
    setattr(Path, _name, _same)
for _name in _ASKING:
    setattr(Path, _name, _ask)


def pathlib_members(guard: Guard) -> dict[str, object]:
    """Return the members of `pathlib`, for one run."""

    def maker(kind: type[pathlib.PurePath]) -> Callable[..., Path]:
        def make(*texts: Any) -> Path:
            pure = kind(*(text_of(guard, each) for each in texts))
            text_of(guard, str(pure))
            return Path(guard, pure)

        return make

    posix, windows = maker(pathlib.PurePosixPath), maker(pathlib.PureWindowsPath)
    path = guard.builtins.add_facade(posix, Path)
    here = Path(guard, pathlib.PurePosixPath("/"))
    guard.methods[Path] = {"cwd": lambda: here, "home": lambda: here}
    return {
        **dict.fromkeys(("Path", "PosixPath", "PurePath", "PurePosixPath"), path),
        **dict.fromkeys(("WindowsPath", "PureWindowsPath"), windows),
    }
