"""What filters do with each syscall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ._errors import Diagnostic
from ._verdict import Verdict, verdict

__all__ = ["ArchExplanation", "Clause", "Condition", "Explanation", "Group", "Outcome", "Unnamed"]


@dataclass(frozen=True)
class Condition:
    """A condition on an argument."""

    arg: int
    part: str
    """whole, low or high: 64 bits, or 32 of them."""
    text: str
    """The condition for people."""
    ranges: Optional[Tuple[Tuple[int, int], ...]] = None
    """The values, if they are few ranges."""
    mask: Optional[int] = None
    """Selects bits, which must equal `equals` or differ from `differs_from`."""
    equals: Optional[int] = None
    differs_from: Optional[int] = None
    relation: Optional[str] = None
    """That to another argument: ==, !=, <, <=, >, >=, shares a bit, shares no bit."""
    other_arg: Optional[int] = None
    """The index of the other argument; None for the instruction pointer."""
    other_part: Optional[str] = None
    """The part of it that is compared."""
    count: Optional[str] = None
    """The number of values, if they are neither."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Clause:
    """A verdict, and the conditions under which the filter returns it."""

    conditions: Tuple[Condition, ...]
    then: Verdict

    def __str__(self) -> str:
        return f"{self.then} if " + " and ".join(map(str, self.conditions))


@dataclass(frozen=True)
class Outcome:
    """What a filter does with a syscall."""

    kind: str
    """always, depends or complex."""
    always: Optional[Verdict] = None
    """The verdict of kind always."""
    clauses: Tuple[Clause, ...] = ()
    """Of kind depends: the first clause that applies decides."""
    otherwise: Optional[Verdict] = None
    """Of kind depends: the verdict if no clause applies."""
    verdicts: Tuple[Verdict, ...] = ()
    """Of kind complex: all verdicts that occur."""

    def __str__(self) -> str:
        if self.kind == "always":
            return str(self.always)
        if self.kind == "complex":
            return "too complex: " + ", ".join(map(str, self.verdicts))
        return "; ".join([*map(str, self.clauses), f"otherwise {self.otherwise}"])


@dataclass(frozen=True)
class Group:
    """Syscalls with the same outcome."""

    outcome: Outcome
    calls: Tuple[Tuple[int, str], ...]
    """Their numbers and names."""


@dataclass(frozen=True)
class Unnamed:
    """Numbers without a name, as ranges, with the same outcome."""

    outcome: Outcome
    numbers: Tuple[Tuple[int, int], ...]


@dataclass(frozen=True)
class ArchExplanation:
    """The explanation for one architecture."""

    arch: str
    groups: Tuple[Group, ...]
    unnamed: Tuple[Unnamed, ...]


@dataclass(frozen=True)
class Explanation:
    """What a filter does with each syscall, derived from its meaning."""

    source: str
    arches: Tuple[ArchExplanation, ...]
    other_arches: Optional[Verdict]
    """The verdict for all other architectures; None if it depends on the syscall."""
    warnings: Tuple[Diagnostic, ...] = ()

    def rows(self) -> List[Dict[str, Any]]:
        """A dict for each architecture and named syscall: arch, call, nr and outcome (a text). For pandas.DataFrame."""
        return [
            {"arch": arch.arch, "call": name, "nr": nr, "outcome": str(group.outcome)}
            for arch in self.arches
            for group in arch.groups
            for nr, name in group.calls
        ]

    def __str__(self) -> str:
        lines = []
        for arch in self.arches:
            for group in arch.groups:
                names = " ".join(name for _, name in group.calls)
                lines.append(f"{arch.arch}: {group.outcome}\n  {names}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from ._html import table

        return table(self.source, [], self)


def outcome(item: Mapping[str, Any]) -> Outcome:
    """An outcome in an answer."""
    if item["kind"] == "always":
        return Outcome("always", always=verdict(item["always"]))
    if item["kind"] == "complex":
        return Outcome("complex", verdicts=tuple(map(verdict, item["verdicts"])))
    clauses = tuple(Clause(tuple(map(condition, one["if"])), verdict(one["then"])) for one in item["clauses"])
    return Outcome("depends", clauses=clauses, otherwise=verdict(item["otherwise"]))


def condition(item: Mapping[str, Any]) -> Condition:
    """A condition in an answer."""
    if "ranges" not in item:
        return Condition(**item)
    return Condition(**{**item, "ranges": tuple((first, last) for first, last in item["ranges"])})


def explanation(item: Mapping[str, Any], warnings: Tuple[Diagnostic, ...]) -> Explanation:
    """The answer to an explanation."""
    arches = []
    for arch in item["arches"]:
        groups = tuple(
            Group(outcome(group["outcome"]), tuple((call["nr"], call["name"]) for call in group["calls"]))
            for group in arch["groups"]
        )
        unnamed = tuple(
            Unnamed(outcome(one["outcome"]), tuple((first, last) for first, last in one["numbers"]))
            for one in arch["unnamed"]
        )
        arches.append(ArchExplanation(arch["arch"], groups, unnamed))
    other = item["other_arches"]
    return Explanation(item["source"], tuple(arches), verdict(other) if other else None, warnings)
