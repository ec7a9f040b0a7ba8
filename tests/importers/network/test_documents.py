# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.importers.network.documents import Documents
from bl_ext.user_default.mcp_bridge.importers.network.transport import HttpError, Site

from support.services.web import Reply, Web


@pytest.fixture
def documents(folder: Path) -> Documents:
    return Documents(folder)


def test_a_document_is_kept_asked_for_by_its_etag_and_served_when_the_service_is_away(
    documents: Documents, site: Site, web: Web
) -> None:
    web.routes["/d"] = [Reply({"a": 1}, headers={"ETag": '"1"'}), Reply(b"", 304), Reply(b"", 500)]
    assert [documents.get(site, "/d", max_age=age) for age in (60, 60, 0, 0)] == [{"a": 1}] * 4
    assert [seen.headers.get("if-none-match") for seen in web.seen[:2]] == [None, '"1"']
    web.routes["/d"] = Reply("gone", 404)
    with pytest.raises(HttpError, match="404"):
        documents.get(site, "/d", max_age=0)


def test_documents_serve_offline(documents: Documents, site: Site, web: Web) -> None:
    import bpy

    web.routes["/d"] = Reply([1, 2])
    documents.get(site, "/d")
    bpy.context.preferences.system.use_online_access = False
    assert documents.get(site, "/d", max_age=0) == [1, 2]
    with pytest.raises(ExternalServiceError, match="Allow Online Access"):
        documents.get(site, "/e")


def test_a_damaged_document_is_asked_for_again(
    documents: Documents, site: Site, web: Web, folder: Path
) -> None:
    web.routes["/d"] = Reply({"a": 1})
    documents.get(site, "/d")
    for path in folder.iterdir():
        path.write_text('{"data": ')
    assert documents.get(site, "/d") == {"a": 1}
    assert len(web.seen) == 2
