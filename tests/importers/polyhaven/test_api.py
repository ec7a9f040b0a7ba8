# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError, InvalidParamsError
from bl_ext.user_default.mcp_bridge.importers.polyhaven.api import PolyHaven

from support.services.polyhaven import BRICK, CHAIR, SKY, PolyHavenServer
from support.services.web import Reply


def test_search_keeps_the_services_order_and_sends_no_limit(
    service: PolyHaven, server: PolyHavenServer
) -> None:
    found = service.search("old things", limit=10)
    assert [asset.id for asset in found.assets] == [CHAIR, BRICK, "brick_wall_02"]
    assert (found.total, found.by) == (3, "relevance")
    sent = next(request for request in server.seen if request.path == "/search")
    assert sent.query == {"q": "old things"}


def test_search_filters_by_kind_and_category_and_goes_page_by_page(
    service: PolyHaven, server: PolyHavenServer
) -> None:
    found = service.search("x", "textures", limit=1, offset=1)
    assert ([asset.id for asset in found.assets], found.total) == (["brick_wall_02"], 2)
    found = service.search("x", "textures", "architecture/walls", limit=5)
    assert [asset.id for asset in found.assets] == [BRICK]
    assert server.seen[-1].query == {"q": "x", "t": "textures"}


@pytest.mark.parametrize(
    "reply", [Reply("busy", 503), Reply("slow down", 429, headers={"Retry-After": "99"}), Reply("<html>")]
)
def test_without_the_services_search_keywords_are_matched(
    service: PolyHaven, server: PolyHavenServer, reply: Reply
) -> None:
    server.routes["/search"] = reply
    found = service.search("red brick", limit=10)
    assert ([asset.id for asset in found.assets], found.by) == ([BRICK], "keywords")


def test_without_a_query_the_most_downloaded_come_first(service: PolyHaven) -> None:
    found = service.search("", limit=2)
    assert ([asset.id for asset in found.assets], found.total, found.by) == (
        [BRICK, "brick_wall_02"],
        4,
        "popularity",
    )


def test_a_record_is_read_in_metres_with_its_credit(service: PolyHaven) -> None:
    chair = service.asset(CHAIR)
    assert (chair.kind, chair.size, chair.authors) == ("models", (2.0, 1.0, 0.5), ("Ada",))
    assert chair.credit.line == "“Chair” by Ada, CC0 1.0, from Poly Haven: https://polyhaven.com/a/chair"


@pytest.mark.parametrize(
    "record",
    [{"type": 1}, {"type": 1, "authors": [], "dimensions": "x", "tags": None, "max_resolution": [1, "a"]}],
)
def test_every_member_may_be_missing_or_odd(service: PolyHaven, server: PolyHavenServer, record: Any) -> None:
    server.routes[f"/info/{BRICK}"] = Reply(record)
    assert (service.asset(BRICK).name, service.asset(BRICK).size) == (BRICK, ())


@pytest.mark.parametrize("record", [[], {}, {"type": 9}, "text", None])
def test_an_invalid_record_is_an_error(service: PolyHaven, server: PolyHavenServer, record: Any) -> None:
    server.routes[f"/info/{BRICK}"] = Reply(str(record).replace("None", "null").replace("'", '"'))
    with pytest.raises(ExternalServiceError, match="Poly Haven"):
        service.asset(BRICK)


def test_an_unknown_asset_is_told_with_what_is_near(service: PolyHaven) -> None:
    with pytest.raises(
        InvalidParamsError, match=r"no asset 'brick_wal'. Did you mean 'brick_wall'.*search_poly"
    ):
        service.asset("brick_wal")
    with pytest.raises(InvalidParamsError, match="no asset 'nothing'"):
        service.files("nothing")


@pytest.mark.parametrize("wrong", ["", "../etc", "a/b", "a" * 51, "ä", "a b", "x?y"])
def test_an_id_is_checked_before_it_is_sent(service: PolyHaven, server: PolyHavenServer, wrong: str) -> None:
    with pytest.raises(InvalidParamsError, match="is not an id of Poly Haven"):
        service.files(wrong)
    assert server.seen == []


def test_categories_come_with_their_stable_ids(service: PolyHaven) -> None:
    found = service.categories("textures")
    assert [(one.path, one.name, one.id[:4]) for one in found] == [
        ("architecture", "Architecture", "1111"),
        ("architecture/walls", "Walls", "2222"),
    ]
    with pytest.raises(
        InvalidParamsError, match=r"no category 'architecture/wall'. Did you mean 'architecture/walls'"
    ):
        service.assets("textures", "architecture/wall")


def test_the_catalogue_is_asked_for_once(service: PolyHaven, server: PolyHavenServer) -> None:
    service.search("a", limit=1)
    service.search("b", limit=1)
    assert server.paths().count("/assets") == 1
    assert SKY in service.assets()
