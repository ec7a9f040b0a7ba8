# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that clients send, and files that they may fetch. Each belongs to the client with the request's token.

On disk they have generated names, in a folder that exists only while this process runs. A client's files are removed
when the client is revoked, when the server stops, and an hour after their last use. Any thread; no `bpy`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypedDict

from ..base.errors import ExternalServiceError, InvalidParamsError, LimitExceeded
from ..sandbox import confinement
from . import file_kinds

__all__ = ("LARGEST", "ClientFile", "ClientFiles", "Sent", "as_sent", "store")

MIB = 1 << 20
LARGEST = 256 * MIB
_MOST_BYTES = 512 * MIB
_MOST_FILES = 200
#: The most bytes of all clients' files together.
_MOST_IN_ALL = 2048 * MIB
_KEPT_S = 3600.0
#: The most files in the user's folders whose writer the store remembers.
_MOST_WRITTEN = 50_000


class Sent(TypedDict):
    """A client's file as tools return it. `size` in bytes; until it is `complete`, the next part starts at `size`."""

    file: str
    uri: str
    name: str
    mime_type: str
    size: int
    complete: bool


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A file of a client. `name` is only a label; `complete`: the whole file has arrived and passed its check."""

    id: str
    owner: str
    name: str
    mime_type: str
    size: int
    path: Path
    used: float
    complete: bool
    #: For a copy: the path of the source file, and its `_identity`.
    origin: tuple[Any, ...] = ()

    @property
    def uri(self) -> str:
        """The URI under which the client reads the file."""
        return f"blender://file/{self.id}"


def as_sent(file: ClientFile) -> Sent:
    """Return a file in the form that tools show."""
    return {
        "file": file.id,
        "uri": file.uri,
        "name": file.name,
        "mime_type": file.mime_type,
        "size": file.size,
        "complete": file.complete,
    }


class Home(Protocol):
    """An object that creates and removes folders, such as a supervisor."""

    def new_folder(self) -> Path: ...
    def remove_folder(self, folder: Path) -> None: ...


class ClientFiles:
    """All clients' files. The first file creates their folder, in the home that `find_home` returns."""

    def __init__(self, find_home: Callable[[], Home], clock: Callable[[], float] = time.monotonic) -> None:
        self._find_home = find_home
        self._folder: Path | None = None
        #: The home that owns the folder.
        self._home: Home | None = None
        self._clock = clock
        self._files: dict[str, ClientFile] = {}
        self._written: dict[tuple[str, Path], tuple[int, ...]] = {}
        self._lock = threading.RLock()

    def begin(self, owner: str, name: str, mime_type: str) -> ClientFile:
        """Return a new empty file, for `append`. Raises what `append` raises."""
        with self._lock:
            self._require_room(owner, 0, files=1)
            file_id = secrets.token_hex(12)
            made = ClientFile(
                file_id, owner, name, mime_type, 0, self._own_folder() / file_id, self._clock(), False
            )
            self._write(made.path, b"", 0)
            self._files[file_id] = made
            return made

    def append(self, owner: str, file_id: str, name: str, data: bytes, offset: int) -> ClientFile:
        """Add a part to a file that `begin` created with this name.

        Raises InvalidParamsError if `offset` is not the file's current size (the part came twice or too early),
        LimitExceeded, and ExternalServiceError for an error of the disk.
        """
        with self._lock:
            file = self._get(owner, file_id)
            if file.complete or file.name != name:
                state = "complete" if file.complete else "of another name"
                raise InvalidParamsError(f"{file.name!r} is {state}: nothing of {name!r} can be added to it.")
            if offset != file.size:
                raise InvalidParamsError(
                    f"{file.name!r} has {file.size} bytes by now: go on with offset {file.size}."
                )
            if file.size + len(data) > LARGEST:
                raise LimitExceeded(f"A file may have at most {LARGEST // MIB} MiB.", limit="file_size")
            self._require_room(owner, len(data))
            self._write(file.path, data, offset)
            return self._keep(replace(file, size=file.size + len(data)))

    def finish(self, owner: str, file_id: str) -> ClientFile:
        """Complete a file. Raises PolicyError if the content does not fit the name, and then removes the file."""
        with self._lock:
            file = self._get(owner, file_id)
            try:
                file_kinds.check(file.path, file.name)
            except BaseException:
                self._drop(file)
                raise
            return self._keep(replace(file, complete=True))

    def keep(self, owner: str, name: str, data: bytes) -> ClientFile:
        """Add a complete file with this content. Raises what `append` and `finish` raise."""
        with self._lock:
            begun = self.begin(owner, name, file_kinds.kind_of(name).mime_type)
            try:
                self.append(owner, begun.id, name, data, 0)
            except BaseException:
                self._drop(begun)
                raise
            return self.finish(owner, begun.id)

    def take(self, owner: str, source: Path, name: str) -> ClientFile:
        """Add a copy of `source`, whose content must fit `name`; return the existing copy if `source` is unchanged.

        Raises what `append` and `finish` raise.
        """
        with self._lock:
            origin: tuple[Any, ...] = ()
            with contextlib.suppress(OSError):  # the code below reports it
                origin = (source, *_identity(source))
                for same in self.list(owner):
                    if same.origin == origin and same.name == name:
                        return self._keep(same)
            file = self.begin(owner, name, file_kinds.kind_of(name).mime_type)
            try:
                with _open_plain(source) as reading:
                    while data := reading.read(MIB):
                        file = self.append(owner, file.id, name, data, file.size)
            except OSError as error:
                self._drop(file)
                raise ExternalServiceError(f"{name!r} cannot be read: {error.strerror or error}.") from None
            except BaseException:
                self._drop(file)
                raise
            return self._keep(replace(self.finish(owner, file.id), origin=origin))

    def take_all(self, owner: str, sources: Mapping[str, Path]) -> list[ClientFile]:
        """Add copies of several files by name: all of them or none. Raises what `take` raises."""
        with self._lock:
            taken: list[ClientFile] = []
            try:
                for name, source in sources.items():
                    taken.append(self.take(owner, source, name))
            except BaseException:
                for file in taken:
                    self._drop(file)
                raise
            return taken

    def note_written(self, owner: str, path: Path) -> None:
        """Record that this client wrote a file in one of the user's folders."""
        with self._lock:
            self._written.pop((owner, path), None)
            self._written[(owner, path)] = _identity(path)
            while len(self._written) > _MOST_WRITTEN:
                del self._written[next(iter(self._written))]

    def wrote(self, owner: str, path: Path) -> bool:
        """Return whether this client wrote the file that exists now; False if there is none."""
        try:
            found = _identity(path)
        except OSError:
            return False
        with self._lock:
            return self._written.get((owner, path)) == found

    def get(self, owner: str, file_id: str) -> ClientFile:
        """Return a complete file of this client. Raises InvalidParamsError."""
        with self._lock:
            file = self._get(owner, file_id)
            if not file.complete:
                raise InvalidParamsError(
                    f"{file.name!r} is not complete: send the rest, from offset {file.size} on."
                )
            return self._keep(file)

    def read(self, owner: str, file_id: str, offset: int, length: int) -> bytes:
        """Return a part of a file; less than `length` at its end. Raises InvalidParamsError."""
        path = self.get(owner, file_id).path
        try:
            with path.open("rb") as file:
                file.seek(offset)
                return file.read(length)
        except OSError:
            raise _unknown(file_id) from None

    def list(self, owner: str) -> list[ClientFile]:
        """Return the client's files, the newest last."""
        with self._lock:
            self._forget_old()
            return [file for file in self._files.values() if file.owner == owner]

    def remove(self, owner: str, file_id: str) -> None:
        """Remove a file of this client. Raises InvalidParamsError."""
        with self._lock:
            self._drop(self._get(owner, file_id))

    def forget(self, owner: str) -> None:
        """Remove all files of a revoked client."""
        with self._lock:
            for file in self.list(owner):
                self._drop(file)
            for key in [key for key in self._written if key[0] == owner]:
                del self._written[key]

    def clear(self) -> None:
        """Remove all files, because the server stops."""
        with self._lock:
            self._files.clear()
            self._written.clear()
            if self._home is not None and self._folder is not None:
                self._home.remove_folder(self._folder)
            self._home = self._folder = None

    def _get(self, owner: str, file_id: str) -> ClientFile:
        self._forget_old()
        file = self._files.get(file_id)
        if file is None or file.owner != owner:
            raise _unknown(file_id)
        return file

    def _keep(self, file: ClientFile) -> ClientFile:
        self._files[file.id] = kept = replace(file, used=self._clock())
        return kept

    def _drop(self, file: ClientFile) -> None:
        del self._files[file.id]
        with contextlib.suppress(
            OSError
        ):  # Windows cannot remove a file that is being read; the folder's removal removes it
            file.path.unlink(missing_ok=True)

    def _forget_old(self) -> None:
        now = self._clock()
        for file in [file for file in self._files.values() if now - file.used > _KEPT_S]:
            self._drop(file)

    def _require_room(self, owner: str, size: int, *, files: int = 0) -> None:
        """Raise LimitExceeded if `size` more bytes are too much for the client, or for all clients together."""
        self._forget_old()
        own = [file for file in self._files.values() if file.owner == owner]
        if len(own) + files > _MOST_FILES:
            raise LimitExceeded(
                f"You have {_MOST_FILES} files, and may not have more: remove_file removes one.",
                limit="files",
            )
        if sum(file.size for file in own) + size > _MOST_BYTES:
            raise LimitExceeded(
                f"Your files may have {_MOST_BYTES // MIB} MiB together: remove_file removes one.",
                limit="files",
            )
        if sum(file.size for file in self._files.values()) + size > _MOST_IN_ALL:
            raise LimitExceeded(
                "The files of all clients together may have no more bytes: remove your own with remove_file, or try "
                "again later.",
                limit="files",
            )

    def _own_folder(self) -> Path:
        if self._folder is None or not self._folder.is_dir():
            self._files.clear()
            self._home = self._find_home()
            self._folder = self._home.new_folder()
        return self._folder

    def _write(self, path: Path, data: bytes, offset: int) -> None:
        try:
            with path.open("r+b" if offset else "wb") as file:
                file.truncate(offset)  # remove the part of a write that failed
                file.seek(offset)
                file.write(data)
        except OSError as error:
            raise ExternalServiceError(f"The file cannot be kept: {error.strerror or error}.") from None


def _identity(path: Path) -> tuple[int, ...]:
    found = path.lstat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _open_plain(path: Path) -> BinaryIO:
    """Open an ordinary file; refuse a link, a device or a pipe that may have replaced it."""
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    number = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError("it is no ordinary file")
    return os.fdopen(number, "rb")


def _unknown(file_id: str) -> InvalidParamsError:
    return InvalidParamsError(
        f"There is no file {file_id[:40]!r} of yours: list_files tells which there are."
    )


#: The files of this Blender's clients.
store = ClientFiles(confinement.current)
