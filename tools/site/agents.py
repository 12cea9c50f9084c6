"""The agents of the static page: how JavaScript calls them in a module."""

from __future__ import annotations

from typing import NamedTuple


class Call(NamedTuple):
    """A call of an export that returns an action.

    Attributes:
        name: The name of the export.
        arguments: Its arguments.
        draws: Whether it draws random numbers, so that the stream must be seeded first.
        places: Whether it only places given tiles of NMBR 9 and chooses none.
    """

    name: str
    arguments: tuple[int, ...] = ()
    draws: bool = False
    places: bool = False


class Offer(NamedTuple):
    """An agent of the page.

    Attributes:
        spec: Its spec, as everywhere.
        kind: ``"partner"``, ``"champion"`` or ``"other"``.
        call: The call that returns its move.
        level: Its level, if it has any.
        analysis: The budget of its analyses, if it can analyse.
        aliases: Other specs of the same agent.
    """

    spec: str
    kind: str
    call: Call
    level: str | int | None = None
    analysis: dict[str, int] | None = None
    aliases: tuple[str, ...] = ()

    def described(self) -> dict[str, object]:
        """All fields as plain data, for JSON."""
        return {**self._asdict(), "call": self.call._asdict()}
