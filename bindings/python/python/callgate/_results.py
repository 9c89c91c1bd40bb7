"""Results of simulations and comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, List, Mapping, Optional, Tuple

from ._errors import Diagnostic
from ._explanation import Outcome, outcome
from ._verdict import Verdict

__all__ = ["Decision", "Difference", "Differences", "Simulated"]


@dataclass(frozen=True)
class Simulated:
    """The verdict of a program for a syscall."""

    arch: Optional[str]
    arch_token: int
    call: Optional[str]
    nr: int
    args: Tuple[int, ...]
    instruction_pointer: int
    verdict: str
    """The action with its data, such as ERRNO(EPERM)."""
    value: int
    """The verdict as a 32-bit value."""
    permitted: bool
    """Whether the syscall is executed: the action is ALLOW or LOG."""
    executed: int
    """The number of executed instructions."""
    constant_allow: bool
    """Whether the kernel allows the syscall without running the program (Linux 5.11 and later)."""
    warnings: Tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class Decision(Verdict):
    """The verdict of a filter for the example of a difference."""

    outcome: Optional[Outcome] = None
    """What the filter does with all syscalls of the group; None if it is not the same for all."""


@dataclass(frozen=True)
class Difference:
    """A group of syscalls for which two filters differ, with an example."""

    arch: Optional[str]
    arch_token: int
    call: Optional[str]
    nr: int
    args: Tuple[int, ...]
    instruction_pointer: int
    a: Decision
    b: Decision
    alike: Tuple[Tuple[int, int], ...]
    """The ranges of syscall numbers that differ in the same way."""

    def __str__(self) -> str:
        arch = self.arch or f"arch {self.arch_token:#x}"
        return f"{arch} {self.call or self.nr}: {self.a} != {self.b}"


class Differences(List[Difference]):
    """Differences; empty, and so false, if there are none."""

    warnings: Tuple[Diagnostic, ...]
    """The messages about the sources that are not errors."""

    def __init__(self, items: Iterable[Difference] = (), warnings: Iterable[Diagnostic] = ()) -> None:
        super().__init__(items)
        self.warnings = tuple(warnings)


def decision(item: Mapping[str, Any]) -> Decision:
    """A verdict in a difference."""
    return Decision(item["verdict"], item["value"], outcome(item["outcome"]) if item["outcome"] else None)


def simulated(item: Mapping[str, Any], warnings: Tuple[Diagnostic, ...]) -> Simulated:
    """The answer to a simulation."""
    return Simulated(**{**item, "args": tuple(item["args"])}, warnings=warnings)


def difference(item: Mapping[str, Any]) -> Difference:
    """A difference in an answer."""
    alike = tuple((first, last) for first, last in item["alike"])
    own = {"args": tuple(item["args"]), "a": decision(item["a"]), "b": decision(item["b"]), "alike": alike}
    return Difference(**{**item, **own})
