# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError, InvalidParamsError, PolicyError
from bl_ext.user_default.mcp_bridge.importers.sketchfab.api import Filters, Sketchfab

from support.services.sketchfab import TOKEN, UID, SketchfabServer, record
from support.services.web import Reply

pytestmark = pytest.mark.usefixtures("server")


def test_a_search_sends_its_filters_as_documented_and_no_token(server: SketchfabServer) -> None:
    filters = Filters(
        categories=("furniture-home",),
        tags=("old", "lamp"),
        animated=False,
        max_faces=1000,
        licence="by",
        sort="likes",
    )
    page = Sketchfab(TOKEN).search("lamp", filters, count=5)
    assert server.seen[0].query == {
        "type": "models",
        "downloadable": "true",
        "count": "5",
        "q": "lamp",
        "categories": "furniture-home",
        "tags": "old,lamp",
        "animated": "false",
        "max_face_count": "1000",
        "license": "by",
        "sort_by": "-likeCount",
    }
    assert "authorization" not in server.seen[0].headers
    [model] = page.models
    assert (model.name, model.author, model.licence, model.limits_use) == (
        "Old Lamp",
        "Ada L.",
        "CC Attribution",
        False,
    )
    assert (model.size, model.thumbnail_url) == (12345, "https://media.sketchfab.com/small.jpeg")


def test_the_next_page_is_only_one_of_the_service(server: SketchfabServer) -> None:
    def cursor(**answer: Any) -> str | None:
        server.routes["/v3/search"] = Reply({"results": [], **answer})
        return Sketchfab(None).search("", Filters()).next_cursor

    assert cursor(cursors={"next": "bz0yNA=="}) == "bz0yNA=="
    assert cursor(next=f"{server.base}/search?type=models&cursor=abc") == "abc"
    assert cursor(next="https://evil.example/v3/search?cursor=abc") is None
    assert cursor(next=f"{server.base}.evil.example/search?cursor=abc") is None
    assert cursor(next=7, cursors="x") is None
    Sketchfab(None).search("", Filters(), cursor="bz0yNA==")
    assert server.seen[-1].query["cursor"] == "bz0yNA=="


@pytest.mark.parametrize("answer", [{}, {"results": "x"}, {"results": [None, {}, {"uid": 3}]}])
def test_missing_members_of_a_search(server: SketchfabServer, answer: Any) -> None:
    server.routes["/v3/search"] = Reply(answer)
    assert Sketchfab(None).search("", Filters()).models == []


@pytest.mark.parametrize("reply", [Reply("<html>"), Reply([1]), Reply("null")])
def test_an_invalid_answer_is_reported(server: SketchfabServer, reply: Reply) -> None:
    server.routes["/v3/search"] = reply
    with pytest.raises(ExternalServiceError, match="Sketchfab answered"):
        Sketchfab(None).search("", Filters())


def test_a_record_without_members(server: SketchfabServer) -> None:
    server.routes[f"/v3/models/{UID}"] = Reply({"uid": UID, "license": None, "user": None, "thumbnails": []})
    model = Sketchfab(None).model(UID)
    assert (model.name, model.licence, model.limits_use, model.size) == (UID, "unknown licence", True, None)
    server.routes[f"/v3/models/{UID}"] = Reply({"name": "no uid"})
    with pytest.raises(ExternalServiceError, match="in a form that MCP Bridge does not know"):
        Sketchfab(None).model(UID)


@pytest.mark.parametrize(
    ("licence", "limits"),
    [
        ({"slug": "by"}, False),
        ({"label": "CC0 Public Domain"}, False),
        ({"fullName": "Creative Commons Attribution-ShareAlike"}, False),
        ({"label": "CC Attribution-NonCommercial", "slug": "by-nc"}, True),
        ({"label": "Editorial", "slug": "ed"}, True),
        ({"label": "Free Standard"}, True),
    ],
)
def test_licences(server: SketchfabServer, licence: dict[str, str], limits: bool) -> None:
    server.routes[f"/v3/models/{UID}"] = Reply(record(license=licence))
    assert Sketchfab(None).model(UID).limits_use is limits


def test_the_token_is_tested(server: SketchfabServer) -> None:
    assert Sketchfab(TOKEN).account() == "ada"
    with pytest.raises(
        PolicyError, match=r"does not accept the API token\. Copy it again from sketchfab\.com"
    ):
        Sketchfab("wrong" * 5).account()
    with pytest.raises(PolicyError, match=r"needs the user's API token .* BLENDER_MCP_SKETCHFAB_TOKEN"):
        Sketchfab(None).account()


def test_errors_are_explained(server: SketchfabServer) -> None:
    with pytest.raises(InvalidParamsError, match="has no model 'gone', or it was taken down"):
        Sketchfab(TOKEN).model("gone")
    server.routes[f"/v3/models/{UID}/download"] = Reply({"detail": "Not allowed"}, 403)
    with pytest.raises(ExternalServiceError, match=r"does not let this account have it: .*Not allowed"):
        Sketchfab(TOKEN).archive(UID)
    server.routes[f"/v3/models/{UID}/download"] = Reply({"usdz": {"url": "x"}})
    with pytest.raises(ExternalServiceError, match=r"does not offer the model .* as glTF"):
        Sketchfab(TOKEN).archive(UID)
