# SPDX-License-Identifier: GPL-3.0-or-later
"""`uuid` for scripts."""

from __future__ import annotations

import uuid
from typing import Any

from ..guard.facade import Facade, hide
from ..guard.seam import Guard

__all__ = ("uuid_members",)


class UUID(Facade):
    """The script's view of `uuid.UUID`, made from a text."""

    __slots__ = ("real",)

    def __init__(self, hex: Any) -> None:  # noqa: A002 - Python's own name of the parameter
        if type(hex) is not str or len(hex) > 100:
            raise TypeError("UUID() takes a text of 32 hexadecimal digits here")
        _set_real(self, uuid.UUID(hex))

    @property
    def hex(self) -> str:
        """The UUID as 32 hexadecimal digits."""
        return _real(self).hex  # type: ignore[no-any-return]

    @property
    def int(self) -> int:
        """The UUID as a number of 128 bits."""
        return _real(self).int  # type: ignore[no-any-return]

    @property
    def bytes(self) -> bytes:
        """The UUID as 16 bytes."""
        return _real(self).bytes  # type: ignore[no-any-return]

    @property
    def urn(self) -> str:
        """The UUID as a URN."""
        return _real(self).urn  # type: ignore[no-any-return]

    @property
    def version(self) -> Any:
        """The UUID's version, 1 to 5, or None."""
        return _real(self).version

    def __eq__(self, other: object) -> bool:
        return type(other) is UUID and _real(self) == _real(other)

    def __lt__(self, other: UUID) -> bool:
        return bool(_real(self) < _real(other))

    def __hash__(self) -> Any:
        return hash(_real(self))

    def __str__(self) -> str:
        return str(_real(self))

    def __repr__(self) -> str:
        return f"UUID('{self}')"


_real, _set_real = hide(UUID, "real")


def uuid_members(guard: Guard) -> dict[str, object]:
    """Return the members of `uuid`, for one run."""

    def make(hex: Any) -> UUID:  # noqa: A002
        return UUID(hex)

    make.__name__ = make.__qualname__ = "UUID"
    return {"uuid4": lambda: UUID(uuid.uuid4().hex), "UUID": guard.builtins.add_facade(make, UUID)}
