# SPDX-License-Identifier: GPL-3.0-or-later
"""Downloads over real HTTP, with every fault; after each nothing is left in the folder."""

from __future__ import annotations

import hashlib
import ipaddress
import resource
import threading
import time
from email.utils import formatdate
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.importers.network import answers, attempts, download, transport
from bl_ext.user_default.mcp_bridge.importers.network.remote_file import RemoteFile
from bl_ext.user_default.mcp_bridge.importers.network.transport import Cancelled, HttpError, Site

import bundles
from support.services.web import Reply, Request, Web

DATA = bytes(range(256)) * 4096  # 1 MiB
MD5 = hashlib.md5(DATA).hexdigest()


def remote(web: Web, **changes: object) -> RemoteFile:
    return RemoteFile(**({"url": web.url + "/file", "md5": MD5, "size": len(DATA)} | changes))


def fetch(site: Site, web: Web, folder: Path, **more: object) -> str:
    changes = {name: more.pop(name) for name in ("md5", "size", "url") if name in more}
    return download.fetch(site, remote(web, **changes), folder / "file", **more)


def assert_fails(site: Site, web: Web, folder: Path, text: str, **more: object) -> None:
    """Assert that a download fails with this text, and leaves nothing."""
    with pytest.raises(ExternalServiceError, match=text):
        fetch(site, web, folder, **more)
    assert list(folder.iterdir()) == []


def test_a_file_arrives_whole_with_its_progress(site: Site, web: Web, folder: Path) -> None:
    web.routes["/file"] = Reply(DATA)
    seen: list[tuple[int, int | None]] = []
    assert fetch(site, web, folder, progress=lambda *step: seen.append(step)) == MD5
    assert (folder / "file").read_bytes() == DATA
    assert seen[-1] == (len(DATA), len(DATA))
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_the_software_names_itself_and_sends_no_key_with_a_file(site: Site, web: Web, folder: Path) -> None:
    web.routes["/file"] = Reply(DATA)
    fetch(site, web, folder)
    headers = web.seen[0].headers
    version = bundles.manifest()["version"]
    assert headers["user-agent"] == f"MCP-Bridge/{version} (Blender {bpy.app.version_string})"
    assert "authorization" not in headers


@pytest.mark.parametrize("cut", [0, 1, 65536, len(DATA) - 1])
def test_a_transfer_that_breaks_goes_on_where_it_stopped(
    site: Site, web: Web, folder: Path, cut: int
) -> None:
    web.routes["/file"] = [Reply(DATA, cut=cut, ranges=True), Reply(DATA, ranges=True)]
    assert fetch(site, web, folder) == MD5
    assert (folder / "file").read_bytes() == DATA
    assert web.seen[1].headers.get("range") == (f"bytes={cut}-" if cut else None)


def test_a_cut_at_any_byte_is_mended(site: Site, web: Web, folder: Path) -> None:
    data = DATA[:24]
    for cut in range(len(data)):
        web.routes["/file"] = [Reply(data, cut=cut, ranges=True), Reply(data, ranges=True)]
        assert fetch(site, web, folder, md5=hashlib.md5(data).hexdigest(), size=24)
        assert (folder / "file").read_bytes() == data


def test_a_cut_at_any_byte_that_stays_leaves_nothing(
    site: Site, web: Web, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "ATTEMPTS", 1)
    for cut in range(24):
        web.routes["/file"] = Reply(DATA[:24], cut=cut)
        assert_fails(site, web, folder, f"ended after {cut} of 24 bytes", md5=None, size=24)


def test_a_server_without_parts_is_asked_again_from_the_start(site: Site, web: Web, folder: Path) -> None:
    web.routes["/file"] = [Reply(DATA, cut=70_000), Reply(DATA)]
    assert fetch(site, web, folder) == MD5


def test_without_an_md5_only_the_same_version_is_continued(site: Site, web: Web, folder: Path) -> None:
    other = DATA[::-1]
    first = Reply(DATA, cut=70_000, ranges=True, headers={"ETag": '"1"'})
    web.routes["/file"] = [first, Reply(other, ranges=True, headers={"ETag": '"2"'})]
    assert fetch(site, web, folder, md5=None) == hashlib.md5(other).hexdigest()
    assert web.seen[1].headers["if-range"] == '"1"'
    assert (folder / "file").read_bytes() == other


def test_what_an_ended_process_left_is_continued(site: Site, web: Web, folder: Path) -> None:
    (folder / "file.part").write_bytes(DATA[:300_000])
    web.routes["/file"] = Reply(DATA, ranges=True)
    assert fetch(site, web, folder) == MD5
    assert web.seen[0].headers["range"] == "bytes=300000-"


@pytest.mark.parametrize("left", [b"something else", DATA + b"more", DATA])
def test_what_was_left_and_does_not_fit_is_fetched_anew(
    site: Site, web: Web, folder: Path, left: bytes
) -> None:
    (folder / "file.part").write_bytes(left)
    web.routes["/file"] = Reply(DATA, ranges=True)
    assert fetch(site, web, folder) == MD5
    assert (folder / "file").read_bytes() == DATA


def test_a_connection_that_always_breaks_is_given_up(site: Site, web: Web, folder: Path) -> None:
    web.routes["/file"] = Reply(DATA, cut=1000)
    assert_fails(site, web, folder, r"ended after 1000 of 1048576 bytes \(3 attempts\)")
    assert len(web.seen) == attempts.ATTEMPTS


def test_wrong_contents_are_told_and_not_kept(site: Site, web: Web, folder: Path) -> None:
    web.routes["/file"] = Reply(DATA[::-1])
    assert_fails(site, web, folder, f"damaged: it has the MD5 .* instead of {MD5}")
    assert len(web.seen) == 1


def test_too_few_bytes_are_told(site: Site, web: Web, folder: Path) -> None:
    web.routes["/file"] = Reply(DATA[:5000])
    assert_fails(site, web, folder, "it has 5000 bytes instead of 1048576")


@pytest.mark.parametrize("reply", [Reply(DATA + b"x"), Reply(DATA, endless=True)])
def test_too_many_bytes_stop_the_transfer(site: Site, web: Web, folder: Path, reply: Reply) -> None:
    web.routes["/file"] = reply
    assert_fails(site, web, folder, "larger than the 1.0 MB announced")


def test_an_endless_body_of_unknown_size_stops_at_the_limit(site: Site, web: Web, folder: Path) -> None:
    web.routes["/file"] = Reply(DATA, endless=True)
    assert_fails(site, web, folder, "larger than the 3.0 MB allowed", md5=None, size=None, most=3_000_000)


@pytest.mark.parametrize(
    ("status", "tries"), [(401, 1), (403, 1), (404, 1), (410, 1), (429, 3), (500, 3), (503, 3)]
)
def test_a_refusal_is_tried_again_only_where_that_helps(
    site: Site, web: Web, folder: Path, status: int, tries: int
) -> None:
    web.routes["/file"] = Reply({"detail": "No such thing."}, status, headers={"Retry-After": "0"})
    assert_fails(site, web, folder, rf"Warehouse answered {status} .*/file: No such thing\.")
    assert len(web.seen) == tries


def test_retry_after_is_waited_for(site: Site, web: Web, folder: Path) -> None:
    in_a_second = {"Retry-After": formatdate(time.time() + 2, usegmt=True)}
    web.routes["/file"] = [Reply(b"", 429, headers=in_a_second), Reply(DATA)]
    begin = time.monotonic()
    assert fetch(site, web, folder) == MD5
    assert time.monotonic() - begin >= 0.9


def test_a_service_that_wants_a_long_pause_is_told_of(site: Site, web: Web, folder: Path) -> None:
    web.routes["/file"] = Reply(b"", 429, headers={"Retry-After": "600"})
    assert_fails(site, web, folder, "wants fewer requests; try again in 600 s")
    assert len(web.seen) == 1


def test_an_error_page_is_not_read_out(site: Site, web: Web) -> None:
    web.routes["/x"] = Reply("<html><h1>Oops</h1></html>", 404, headers={"Content-Type": "text/html"})
    with pytest.raises(HttpError) as caught:
        answers.request(site, "/x", query={"signature": "secret"})
    assert str(caught.value) == f"Warehouse answered 404 Not Found to {web.url[7:]}/x."


def test_html_instead_of_json_is_told(site: Site, web: Web) -> None:
    web.routes["/x"] = Reply("<html>sign in</html>", headers={"Content-Type": "text/html; charset=utf-8"})
    with pytest.raises(
        ExternalServiceError, match="with text/html instead of JSON; a proxy or a sign-in page"
    ):
        answers.request(site, "/x").json()


def test_an_answer_without_end_is_given_up(site: Site, web: Web) -> None:
    web.routes["/x"] = Reply(b"[" * 65536, endless=True)
    with pytest.raises(ExternalServiceError, match=r"with more than 1\.0 MB"):
        answers.request(site, "/x", most=1_000_000)
    web.routes["/x"] = Reply(b"[" * 100_000)
    with pytest.raises(ExternalServiceError, match="instead of JSON"):
        answers.request(site, "/x").json()


def test_slow_bytes_end_with_the_time_limit(site: Site, web: Web, folder: Path) -> None:
    web.routes["/file"] = Reply(DATA, pause=0.05, piece=10)
    assert_fails(site, web, folder, "Warehouse was too slow: the transfer was stopped after 1 s", seconds=0.6)


def test_silence_ends_with_the_socket_time_out(
    site: Site, web: Web, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "SILENCE_S", 0.2)
    web.routes["/file"] = Reply(DATA, pause=5)
    assert_fails(site, web, folder, r"Warehouse did not answer for 0 s at 127.0.0.1.* \(3 attempts\)")


@pytest.mark.parametrize("reply", [Reply(DATA, pause=0.05, piece=10), Reply(DATA, pause=10), Reply(b"", 503)])
def test_cancel_ends_a_transfer_at_once(
    site: Site, web: Web, folder: Path, reply: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "_BACKOFF_S", 10.0)
    web.routes["/file"] = reply
    cancelled = threading.Event()
    threading.Timer(0.3, cancelled.set).start()
    begin = time.monotonic()
    with pytest.raises(Cancelled):
        fetch(site, web, folder, cancelled=cancelled)
    assert time.monotonic() - begin < 9  # and not the 10 s of each
    assert list(folder.iterdir()) == []


def test_cancel_before_the_begin_sends_nothing(site: Site, web: Web, folder: Path) -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Cancelled):
        fetch(site, web, folder, cancelled=cancelled)
    assert web.seen == []


def test_a_disk_that_takes_no_more_is_told(site: Site, web: Web, folder: Path) -> None:
    web.routes["/file"] = Reply(DATA)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, before[1]))  # as a quota of the disk does
    try:
        assert_fails(site, web, folder, "can't be written: File too large")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(web.seen) == 1


def test_a_file_larger_than_the_disk_is_not_begun(site: Site, web: Web, folder: Path) -> None:
    assert_fails(site, web, folder, r"has 1000000000 MB, and the disk of .* has less space", size=10**15)
    assert web.seen == []


def test_a_refused_connection_is_told(site: Site, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_TEST_API", "http://127.0.0.1:1")
    with pytest.raises(ExternalServiceError, match=r"can't be reached at 127.0.0.1:1/x: .*refused"):
        answers.request(site, "/x")


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("http://10.0.0.7/file", "10.0.0.7/file, which is not https"),
        ("https://169.254.169.254/latest", "host '169.254.169.254', which is not one of its own"),
        ("https://files.example.evil.test/x", "which is not one of its own"),
        ("http://a.files.example/x", "not https"),
        ("https://localhost/x", "'localhost', which is not one of its own"),
        ("https://user@evil.test\\@files.example/x", "not one of its own"),
        ("file:///etc/passwd", "not https"),
        ("https://[", "not one of its own"),
    ],
)
def test_addresses_outside_the_service_are_refused(
    site: Site, web: Web, folder: Path, url: str, text: str
) -> None:
    assert_fails(site, web, folder, text.replace("\\", "."), url=url)
    web.routes["/file"] = Reply(b"", 302, headers={"Location": url})
    if not url.endswith("["):
        assert_fails(site, web, folder, "refused|not allowed")
    assert all(request.path == "/file" for request in web.seen)


def test_a_public_name_that_leads_into_a_private_network_is_refused(
    site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Web() as inside:
        port = inside.url.rpartition(":")[2]
        local = Site(
            "polyhaven", "Warehouse", "MCP_TEST_API", "https://api.warehouse.example", ("127.0.0.1",)
        )
        monkeypatch.setenv("MCP_TEST_API", "http://elsewhere.example")
        with pytest.raises(ExternalServiceError, match=r"private address 127.0.0.1: refused|not https"):
            download.fetch(local, RemoteFile(f"http://127.0.0.1:{port}/x"), folder / "x")
        opener = transport._opener(local, transport._Leash(local, None, 5))
        with pytest.raises(ExternalServiceError, match=r"Warehouse leads to the private address 127.0.0.1"):
            opener.open(f"http://127.0.0.1:{port}/x", timeout=5)
        assert inside.seen == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1", False),
        ("fec0::1", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("::127.0.0.1", False),
        ("64:ff9b::10.0.0.1", False),
        ("64:ff9b::93.184.216.34", True),
        ("2002:7f00:1::", False),
    ],
)
def test_private_addresses_in_every_dress(address: str, public: bool) -> None:
    assert transport._is_public(ipaddress.ip_address(address)) is public


def test_a_long_chain_of_redirects_is_followed_only_within_the_service(site: Site, web: Web) -> None:
    for step in range(3):
        web.routes[f"/{step}"] = Reply(b"", 302, headers={"Location": f"/{step + 1}"})
    web.routes["/3"] = Reply(b"", 302, headers={"Location": "http://169.254.169.254/latest"})
    with pytest.raises(ExternalServiceError, match=r"169.254.169.254/latest, which is not https: refused"):
        answers.request(site, "/0")
    assert web.paths() == ["/0", "/1", "/2", "/3"]


def test_letters_of_any_language_in_an_address(site: Site, web: Web, folder: Path) -> None:
    web.routes["/mod%C3%A8le%20%E6%A4%85%E5%AD%90.zip"] = Reply(DATA)
    assert fetch(site, web, folder, url=web.url + "/modèle 椅子.zip?Signature=a%2Fb") == MD5
    assert web.seen[0].query == {"Signature": "a/b"}, "what is escaped already stays as it is"


@pytest.mark.parametrize("value", ["9" * 5000, "\xb3", "-1", "1e3", "Thu, 99 Foo 0001 99:99:99 GMT"])
def test_odd_numbers_in_headers_are_told_and_not_stumbled_over(
    site: Site, web: Web, folder: Path, value: str
) -> None:
    web.routes["/file"] = Reply(b"", 429, headers={"Retry-After": value})
    with pytest.raises(ExternalServiceError, match="wants fewer requests"):
        fetch(site, web, folder)
    web.routes["/file"] = Reply(b"", 206, headers={"Content-Range": f"bytes {value}-", "ETag": value})
    assert_fails(site, web, folder, "damaged: it has 0 bytes")


def test_redirects_within_the_service_are_followed_but_keys_are_not_sent_along(site: Site, web: Web) -> None:
    with Web() as storage:
        web.routes["/a"] = Reply(b"", 302, headers={"Location": storage.url + "/b"})
        storage.routes["/b"] = Reply({"ok": True})
        answer = answers.request(site, "/a", credentials={"Authorization": "Token secret"})
        assert answer.json() == {"ok": True}
        assert web.seen[0].headers["authorization"] == "Token secret"
        assert "authorization" not in storage.seen[0].headers


def test_a_circle_of_redirects_ends(site: Site, web: Web) -> None:
    web.routes["/a"] = Reply(b"", 302, headers={"Location": "/a"})
    with pytest.raises(HttpError, match="302"):
        answers.request(site, "/a")
    assert len(web.seen) <= 6


def test_a_key_goes_only_below_the_base_url(site: Site, web: Web) -> None:
    with Web() as other:
        with pytest.raises(ExternalServiceError, match="the key is not sent to"):
            answers.request(site, other.url + "/x", credentials={"Authorization": "Token secret"})
        assert other.seen == []


@pytest.mark.parametrize(
    "reply", [Reply(b"", 503), Reply(b"", 307, headers={"Location": "/b"}), Reply(b"xx", cut=1)]
)
def test_a_request_with_a_body_is_sent_once(site: Site, web: Web, reply: Reply) -> None:
    web.routes["/a"] = web.routes["/b"] = reply
    with pytest.raises(ExternalServiceError):
        answers.request(site, "/a", body=b"order")
    assert [(seen.path, seen.body) for seen in web.seen] == [("/a", b"order")]


def test_offline_blender_asks_nothing(site: Site, web: Web) -> None:
    import bpy

    bpy.context.preferences.system.use_online_access = False
    with pytest.raises(ExternalServiceError, match=r"Warehouse can't be reached: .*Allow Online Access"):
        answers.request(site, "/x")
    assert web.seen == []


def test_the_proxy_of_the_environment_is_used(site: Site, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    with Web() as proxy:
        monkeypatch.setenv("MCP_TEST_API", "http://mirror.example")
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        proxy.routes["/x"] = Reply({"through": "proxy"})
        assert answers.request(site, "/x").json() == {"through": "proxy"}
        assert proxy.seen[0].headers["host"] == "mirror.example"


def test_a_md5_that_is_a_path_is_refused() -> None:
    with pytest.raises(ExternalServiceError, match=r"'\.\./\.\./evil' as an MD5"):
        RemoteFile("https://x", "../../evil")


def test_a_slow_header_ends_with_the_time_limit(site: Site, web: Web) -> None:
    over = threading.Event()

    def silent(_request: Request) -> Reply:
        over.wait(60)
        return Reply(b"")

    web.routes["/x"] = silent
    with pytest.raises(ExternalServiceError, match=r"too slow|did not answer"):
        answers.request(site, "/x", seconds=0.3)
    over.set()
