# SPDX-License-Identifier: GPL-3.0-or-later
"""Unpack a foreign zip archive with limits on its size. Runs in the confined child; no `bpy`."""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import Path

from ...base.errors import ExternalServiceError
from ...base.file_names import inside

__all__ = ("unpack",)

MOST_ENTRIES = 5000
MOST_BYTES = 4 * 1024**3
#: The largest compression ratio: models in text form shrink to a tenth, empty pictures to a hundredth.
MOST_RATIO = 300
_RATIO_FREE = 16 * 1024**2
_CHUNK = 1 << 20


def unpack(archive: Path, folder: Path) -> list[Path]:
    """Unpack into `folder` and return the files. Raises ExternalServiceError; some files may then be there."""
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = [entry for entry in opened.infolist() if not entry.is_dir()]
            _check(entries, archive.stat().st_size)
            paths = inside(entry.orig_filename for entry in entries)
            if len(paths) != len(entries):
                raise ExternalServiceError(
                    "The archive has two files of the same name: nothing was unpacked."
                )
            left = MOST_BYTES
            for entry in entries:
                left -= _extract(opened, entry, folder / paths[entry.orig_filename], left)
            return [folder / path for path in paths.values()]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        # zipfile raises NotImplementedError for a compression that it does not know.
        raise ExternalServiceError(f"The archive is damaged or of an unknown kind: {error}.") from None


def _check(entries: list[zipfile.ZipInfo], packed: int) -> None:
    """Refuse an archive whose directory is not that of a plain model."""
    size = sum(entry.file_size for entry in entries)
    if len(entries) > MOST_ENTRIES:
        raise ExternalServiceError(
            f"The archive has {len(entries)} files; at most {MOST_ENTRIES} are unpacked."
        )
    if size > MOST_BYTES or (size > _RATIO_FREE and size > packed * MOST_RATIO):
        raise ExternalServiceError(f"The archive would unpack from {packed} to {size} bytes: refused.")
    for entry in entries:
        if entry.flag_bits & 1:
            raise ExternalServiceError("The archive is encrypted.")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ExternalServiceError("The archive uses a kind of compression other than deflate: refused.")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise ExternalServiceError(
                f"The archive has a link, {entry.orig_filename[:80]!r}: nothing was unpacked."
            )


def _extract(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, most: int) -> int:
    """Write one file and return its real size, since the size in the directory may be wrong."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with opened.open(entry) as source, path.open("xb") as target:
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            if written > most:
                raise ExternalServiceError(f"The archive unpacks to more than {MOST_BYTES} bytes: refused.")
            target.write(chunk)
    return written
