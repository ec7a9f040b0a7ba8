# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError, InvalidParamsError, PolicyError
from bl_ext.user_default.mcp_bridge.importers.hyper3d import importing
from bl_ext.user_default.mcp_bridge.importers.hyper3d.api import (
    MAIN,
    Balance,
    Fal,
    MainSite,
    Order,
    Picture,
    Ticket,
)
from bl_ext.user_default.mcp_bridge.importers.hyper3d.pictures import decode

from support.services.rodin import KEY, ORDER, RodinServer, form
from support.services.web import Reply

pytestmark = pytest.mark.usefixtures("server")

PNG = Picture(b"\x89PNG\r\n\x1a\n123", "png")
MAIN_TICKET = Ticket(ORDER, "hyper3d", {"subscription_key": "sub-key"})


def fal_ticket() -> Ticket:
    return Fal(KEY).submit(Order("a lamp"))


def test_the_main_site_is_sent_a_form(server: RodinServer) -> None:
    order = Order(
        "a lamp", (PNG, PNG), tier="Gen-2", bounding_box=(10, 20, 30), seed=0, t_pose=True, high_pack=True
    )
    assert MainSite(KEY).submit(order) == MAIN_TICKET
    [sent] = server.orders()
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert form(sent) == {
        "geometry_file_format": [b"glb"],
        "tier": [b"Gen-2"],
        "quality": [b"medium"],
        "material": [b"PBR"],
        "mesh_mode": [b"Quad"],
        "seed": [b"0"],
        "TAPose": [b"true"],
        "addons": [b"HighPack"],
        "bbox_condition": [b"[10, 20, 30]"],
        "prompt": [b"a lamp"],
        "condition_mode": [b"concat"],
        "images": [PNG.data, PNG.data],
    }


@pytest.mark.parametrize(
    ("tier", "path", "members"),
    [
        ("Sketch", "", {"tier": "Sketch", "quality": "medium", "input_image_urls": True}),
        ("Gen-2", "/v2", {"quality": "medium", "input_image_urls": True}),
        ("Gen-2.5-High", "/v2.5", {"quality_mesh_option": "medium", "image_urls": True}),
    ],
)
def test_fal_is_sent_json_in_the_words_of_each_version(
    server: RodinServer, tier: Any, path: str, members: dict[str, Any]
) -> None:
    ticket = Fal(KEY).submit(Order("a lamp", (PNG,), tier=tier))
    [sent] = server.orders()
    assert (ticket.id, sent.path) == (ORDER, "/fal-ai/hyper3d/rodin" + path)
    assert sent.headers["authorization"] == f"Key {KEY}"
    body = sent.json()
    picture = "data:image/png;base64," + base64.b64encode(PNG.data).decode()
    plain = {"prompt": "a lamp", "geometry_file_format": "glb", "material": "PBR", "mesh_mode": "Quad"}
    expected = plain | {"condition_mode": "concat"} | members
    assert body == {name: [picture] if value is True else value for name, value in expected.items()}


def test_a_tier_that_fal_lacks_is_told_before_anything_is_sent(server: RodinServer) -> None:
    with pytest.raises(
        InvalidParamsError, match="does not offer the tier Smooth; it has Sketch, Regular, Gen-2"
    ):
        Fal(KEY).submit(Order("a lamp", tier="Smooth"))
    assert server.seen == []


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"", 500),
        Reply(b"", 503, headers={"Retry-After": "0"}),
        Reply(b"", 429, headers={"Retry-After": "0"}),
        Reply({"error": "API_INSUFFICIENT_FUNDS", "message": "Insufficient funds"}, 201),
        Reply({"uuid": ORDER}, 201),
        Reply(["odd"], 201),
        Reply("<html>", 200),
        Reply({"uuid": 1}, 200, announced=99),
        Reply(b"", 307, headers={"Location": "/elsewhere"}),
    ],
)
@pytest.mark.parametrize("provider", ["hyper3d", "fal"])
def test_an_order_that_fails_is_never_sent_again(server: RodinServer, provider: Any, reply: Reply) -> None:
    server.routes["/api/v2/rodin"] = server.routes["/fal-ai/hyper3d/rodin"] = reply
    with pytest.raises(ExternalServiceError):
        importing.place_order(provider, Order("a lamp"))
    assert len(server.orders()) == 1


def test_faults_of_an_order_are_told(server: RodinServer) -> None:
    server.routes["/api/v2/rodin"] = Reply({"error": "API_INSUFFICIENT_FUNDS", "message": "no money"}, 201)
    with pytest.raises(ExternalServiceError, match="Hyper3D Rodin refused: no money"):
        MainSite(KEY).submit(Order("a lamp"))
    server.routes["/api/v2/rodin"] = Reply({"error": "INSUFFICIENT_BALANCE"}, 402)
    with pytest.raises(ExternalServiceError, match="The account at Hyper3D Rodin has not enough credit"):
        MainSite(KEY).submit(Order("a lamp"))
    server.routes["/api/v2/rodin"] = Reply({"uuid": ORDER}, 201)
    with pytest.raises(ExternalServiceError, match="look at your account before you order again"):
        MainSite(KEY).submit(Order("a lamp"))
    server.routes["/api/v2/rodin"] = Reply({"uuid": ORDER}, announced=999)
    with pytest.raises(
        ExternalServiceError, match=r"Whether the order was taken is not known: look at your account"
    ):
        importing.place_order("hyper3d", Order("a lamp"))
    detail = [{"loc": ["body", "prompt"], "msg": "prompt is too long", "type": "value_error"}]
    server.routes["/fal-ai/hyper3d/rodin"] = Reply({"detail": detail}, 422)
    with pytest.raises(ExternalServiceError, match=r"fal.ai refused: .* prompt is too long"):
        Fal(KEY).submit(Order("a lamp"))


@pytest.mark.parametrize("provider", [MainSite, Fal])
def test_a_wrong_key_is_told_and_never_shown(provider: Any) -> None:
    with pytest.raises(PolicyError, match="does not accept the API key") as caught:
        provider("wrong-key-0123456789").submit(Order("a lamp"))
    assert "wrong-key" not in str(caught.value)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["Waiting", "Waiting"], "waiting"),
        (["Done", "Waiting"], "generating"),
        (["Generating", "Waiting"], "generating"),
        (["Done", "Done"], "done"),
        (["Done", "Failed"], "failed"),
        (["Canceled", "Done"], "cancelled"),
    ],
)
def test_the_main_site_is_done_when_all_is_done(
    server: RodinServer, states: list[str], expected: str
) -> None:
    server.states = states
    assert MainSite(KEY).progress(MAIN_TICKET).state == expected


@pytest.mark.parametrize("states", [[], ["Done", "Exploded"]])
def test_states_that_nobody_knows_are_an_error(server: RodinServer, states: list[str]) -> None:
    server.states = states
    with pytest.raises(
        ExternalServiceError, match=r"reported (no jobs|the unknown state 'Exploded') of this order"
    ):
        MainSite(KEY).progress(MAIN_TICKET)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"status": "IN_QUEUE", "queue_position": 3}, ("waiting", "number 3 in the queue")),
        ({"status": "IN_PROGRESS"}, ("generating", "")),
        ({"status": "COMPLETED"}, ("done", "")),
        ({"status": "COMPLETED", "error": "out of memory"}, ("failed", "out of memory")),
        ({"status": "LOST"}, ("failed", "fal.ai reported the unknown state 'LOST'")),
        ({}, ("failed", "fal.ai reported the unknown state None")),
    ],
)
def test_states_of_fal(server: RodinServer, status: dict[str, Any], expected: tuple[str, str]) -> None:
    ticket = fal_ticket()
    server.fal = status
    found = Fal(KEY).progress(ticket)
    assert (found.state, found.message) == expected


def test_the_key_goes_only_to_fals_own_addresses(server: RodinServer) -> None:
    evil = {
        "request_id": ORDER,
        "status_url": "https://evil.example/s",
        "response_url": "https://evil.example/r",
    }
    server.routes["/fal-ai/hyper3d/rodin"] = Reply(evil)
    with pytest.raises(ExternalServiceError, match="in a form that MCP Bridge does not know"):
        Fal(KEY).submit(Order("a lamp"))


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("file.hyper3d.com", True),
        ("hyperhuman-file.deemos.com", True),
        ("bucket.s3.amazonaws.com", False),
        ("someone.r2.cloudflarestorage.com", False),
        ("other.deemos.com", False),
    ],
)
def test_results_come_from_the_services_own_hosts(host: str, own: bool) -> None:
    if own:
        MAIN.admit(f"https://{host}/a.glb")
    else:
        with pytest.raises(ExternalServiceError, match="which is not one of its own"):
            MAIN.admit(f"https://{host}/a.glb")


def test_an_error_that_says_ok_is_none(server: RodinServer) -> None:
    server.routes["/api/v2/status"] = Reply({"error": "OK", "jobs": [{"uuid": "1", "status": "Done"}]}, 201)
    assert MainSite(KEY).progress(MAIN_TICKET).state == "done"


def test_files_have_plain_names(server: RodinServer) -> None:
    assert sorted(MainSite(KEY).files(MAIN_TICKET)) == [
        "base_basic_pbr.glb",
        "base_basic_shaded.glb",
        "preview.webp",
    ]
    assert list(Fal(KEY).files(fal_ticket())) == ["base.glb"]


def test_balance(server: RodinServer) -> None:
    assert (MainSite(KEY).balance(), str(MainSite(KEY).balance())) == (
        Balance(12.5, "credits"),
        "12.5 credits",
    )
    assert Fal(KEY).balance() == Balance(24.5, "USD")
    assert server.seen[-1].query == {"expand": "credits"}
    for refused in (401, 403):
        server.routes["/v1/account/billing"] = Reply({"error": {"type": "authorization_error"}}, refused)
        assert Fal(KEY).balance() is None, "only an administrator's key may see it"
    server.routes["/v1/account/billing"] = Reply({"username": "ada"})
    with pytest.raises(ExternalServiceError, match=r"fal.ai answered the balance in a form"):
        Fal(KEY).balance()
    server.routes["/api/v2/check_balance"] = Reply({})
    with pytest.raises(ExternalServiceError, match="answered the balance in a form"):
        MainSite(KEY).balance()


def test_an_order_needs_something_to_go_by() -> None:
    with pytest.raises(InvalidParamsError, match="Give a prompt, pictures, or both"):
        Order(" ").check()
    with pytest.raises(InvalidParamsError, match="at most 5 pictures, not 6"):
        Order(pictures=(PNG,) * 6).check()


@pytest.mark.parametrize(
    ("text", "message"),
    [("%%%", "not valid base64"), (base64.b64encode(b"GIF89a").decode(), "neither PNG nor JPEG nor WebP")],
)
def test_pictures_are_checked(text: str, message: str) -> None:
    with pytest.raises(InvalidParamsError, match=message):
        decode(text)
    assert decode("data:image/png;base64," + base64.b64encode(PNG.data).decode()) == PNG
