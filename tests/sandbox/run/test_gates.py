# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import LimitExceeded
from bl_ext.user_default.mcp_bridge.sandbox.run.gates import RateLimit


def test_rate_limit_opens_again() -> None:
    now = [0.0]
    limit = RateLimit(lambda: now[0])
    limit.take(1, 60)
    with pytest.raises(LimitExceeded, match="try again in 60 s"):
        limit.take(1, 60)
    now[0] = 60.1
    limit.take(1, 60)
