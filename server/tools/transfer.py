# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that send files between client and Blender over the connection, if they share no folder."""

from __future__ import annotations

import asyncio
import base64
import binascii
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from ...approvals import consent
from ...base import journal, settings
from ...base.errors import ExternalServiceError, InvalidParamsError
from ...files import allowed_folders, client_files, file_kinds
from ...files.client_files import ClientFile, Sent, as_sent, store
from ...importers import uploaded
from ...importers.credit import Credit
from ...importers.network.transport import megabytes
from ..file_links import link
from ..protocol.context import RequestContext
from ..protocol.messages import content
from ..protocol.messages.content import ToolResult
from . import files
from .assets import Location, bring_in
from .registry import tool
from .schema import Bounds

#: The most bytes that one call sends: a message may have 64 MiB, and base64 makes a third more of them.
_MOST_AT_ONCE = 32 << 20
#: The most bytes of a file in the answer itself; a model pays for every byte.
_MOST_SHOWN = 256 << 10

FileId = Annotated[str, Bounds(shortest=1, longest=64)]
Offset = Annotated[int, Bounds(0, client_files.LARGEST)]


class SentList(TypedDict):
    """The client's files."""

    files: list[Sent]


class Part(TypedDict):
    """A part of a file, or the note that the user has to answer first."""

    status: str
    file: NotRequired[Sent]
    offset: NotRequired[int]
    #: The offset of the next part.
    next_offset: NotRequired[int]
    job_id: NotRequired[str]
    message: NotRequired[str]


@tool(title="Upload File")
async def upload_file(
    context: RequestContext,
    name: Annotated[str, Bounds(shortest=1, longest=200)],
    data: Annotated[str, Bounds(longest=_MOST_AT_ONCE // 3 * 4 + 4)],
    mime_type: Annotated[str, Bounds(longest=200)] = "",
    file: FileId | None = None,
    offset: Offset = 0,
    more: bool = False,
) -> Sent:
    """Send a picture, a model or a text to Blender; import_file then brings it into the scene. Only you can use it,
    for an hour after the last time. A file is at most 256 MiB, a call 32 MiB: send large ones in parts.

    name: with the ending that says what it is: .png, .jpg, .exr, .hdr, .glb, .fbx, .obj, .stl, .ply, .usdz, .zip (of a
        glTF), .txt, .csv, .json and the like.
    data: in base64.
    file: of the earlier parts, as the call with the first one gave it.
    offset: where this part begins, in bytes.
    more: further parts follow.
    """
    kind = file_kinds.received_kind(file_kinds.clean_name(name), mime_type)
    owner = context.client.id

    def keep() -> ClientFile:
        piece = _decoded(data)
        begun = file or store.begin(owner, name, kind.mime_type).id
        try:
            kept = store.append(owner, begun, name, piece, offset)
        except BaseException:
            if file is None:
                store.remove(owner, begun)
            raise
        return kept if more else store.finish(owner, begun)

    kept = await asyncio.to_thread(keep)
    if kept.complete:
        await _note("file_received", context, kept)
    return as_sent(kept)


@tool(title="Download File", read_only=True, output=Part)
async def download_file(
    context: RequestContext,
    file: FileId | None = None,
    path: Annotated[str, Bounds(longest=1000)] | None = None,
    offset: Offset | None = None,
    length: Annotated[int, Bounds(1, _MOST_AT_ONCE)] | None = None,
) -> ToolResult:
    """Get a file of yours (export_file with download makes some), or one from the folders that the preferences name:
    what you wrote there at once, any other after the user's approval. Small files come in the answer, larger
    ones as a link.

    file: as upload_file, export_file or list_files gave it.
    path: absolute, or relative to the first of those folders.
    offset: give a part in the answer, from this byte on.
    length: bytes of the part; 256 KiB by default.
    """
    if (file is None) == (path is None):
        raise InvalidParamsError("Give one of file and path.")
    owner = context.client.id
    found = (
        await asyncio.to_thread(store.get, owner, file)
        if file is not None
        else await _from_folder(context, path or "")
    )
    facts: dict[str, Any] = {"status": "success", "file": as_sent(found)}
    if offset is None and length is None and found.size > _MOST_SHOWN:
        return _shown(link(found), facts)
    begin = offset or 0
    piece = await asyncio.to_thread(store.read, owner, found.id, begin, length or _MOST_SHOWN)
    facts["offset"] = begin
    if begin + len(piece) < found.size:
        facts["next_offset"] = begin + len(piece)
    whole = len(piece) == found.size
    shown = content.blob_contents(found.uri, piece, found.mime_type)
    picture = whole and found.mime_type == "image/png"
    return _shown(content.image(piece) if picture else content.embedded(shown), facts)


def _shown(block: dict[str, Any], facts: dict[str, Any]) -> ToolResult:
    text, structured = content.text_and_structure(facts)
    return ToolResult([block, text], structured)


@tool(title="List Files", read_only=True)
async def list_files(context: RequestContext) -> SentList:
    """Your files: what you sent and what you may fetch, the newest last."""
    found = await asyncio.to_thread(store.list, context.client.id)
    return {"files": [as_sent(file) for file in found]}


@tool(title="Remove File", destructive=True)
async def remove_file(context: RequestContext, file: FileId) -> SentList:
    """Remove one of your files, so that there is room for others. Nothing in the scene changes.

    file: as list_files gives it.
    """
    await asyncio.to_thread(store.remove, context.client.id, file)
    return await list_files(context)


@tool(title="Import File", output=dict)
async def import_file(
    context: RequestContext,
    file: FileId,
    target_size: Annotated[float | None, Bounds(0.0001, 100_000)] = None,
    location: Location = None,
) -> dict[str, Any]:
    """Bring a file that you sent into the open file, as one undo step: a model at the 3D cursor, a
    picture as a packed image, a text as a text that scripts read by bpy.data.texts[name].as_string(). Models and
    pictures are opened by a confined Blender first, and what could run code is left out.

    file: as upload_file gave it.
    target_size: length of a model's longest side in metres; without it as the file has it.
    location: where a model stands, in metres, instead of the 3D cursor.
    """
    found = await asyncio.to_thread(store.get, context.client.id, file)
    kind = file_kinds.received_kind(found.name)
    await _note("file_imported", context, found)
    if kind.family == "text":
        data = await asyncio.to_thread(store.read, context.client.id, file, 0, found.size)
        add = partial(uploaded.add_text, found.name, data.decode("utf-8-sig").replace("\r\n", "\n"))
        return {"status": "success", "text": await files.on_main_thread(context, add)}
    credit = Credit(
        service=f"{context.client.name} (sent by the client)",
        id=found.id,
        title=found.name,
        author="",
        licence="licence not known",
    )
    family: Literal["picture", "model"] = "picture" if kind.family == "picture" else "model"
    wanted = uploaded.prepare(found.path, credit, family=family, size=target_size, location=location)
    return dict(await bring_in(context, f"Import {found.name}", wanted))


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidParamsError(f"data is not valid base64: {error}.") from None


async def _from_folder(context: RequestContext, path: str) -> ClientFile:
    """Return a copy of a file in the named folders; ask the user unless this client wrote it."""
    folders = settings.current().file_folders or ()
    source = await asyncio.to_thread(allowed_folders.existing, path, folders, file_kinds.SENT)
    owner = context.client.id
    if not store.wrote(owner, source):
        try:
            facts = source.stat()
        except OSError as error:  # another program has just removed it
            raise ExternalServiceError(f"{source} cannot be read: {error.strerror or error}.") from None
        await consent.confirm(
            context,
            files.question_key("send", str(source), facts.st_size, facts.st_mtime_ns),
            f"Send {source} ({megabytes(facts.st_size)}) to {context.client.name}?",
            title=f"Send {source.name}",
            otherwise=f"{source}: you did not write it, and sending it needs the user's approval, which this client "
            "can't ask for.",
        )
    await files.note("file_sent", context, source)
    return await asyncio.to_thread(store.take, owner, source, source.name)


async def _note(event: str, context: RequestContext, file: ClientFile) -> None:
    client = context.client
    await asyncio.to_thread(
        journal.current().write,
        event,
        requester=client.name,
        client=client.id,
        file=file.id,
        name=file.name,
        size=file.size,
    )
