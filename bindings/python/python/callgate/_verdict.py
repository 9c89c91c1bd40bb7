"""Verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

__all__ = ["Verdict"]


@dataclass(frozen=True)
class Verdict:
    """What a filter returns."""

    verdict: str
    """The action with its data, such as ERRNO(EPERM)."""
    value: int
    """The 32-bit value."""

    def __str__(self) -> str:
        return self.verdict


def verdict(item: Mapping[str, Any]) -> Verdict:
    """A verdict in an answer."""
    return Verdict(item["verdict"], item["value"])
