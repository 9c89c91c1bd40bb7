"""Mistakes in filters, and ways to evade them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Tuple

from ._engine import ask
from ._source import request_of
from ._verdict import Verdict

if TYPE_CHECKING:
    from typing_extensions import Literal, Unpack

    from ._options import SourceOptions
    from ._source import SourceLike

__all__ = ["Example", "Finding", "Findings", "lint"]


@dataclass(frozen=True)
class Example(Verdict):
    """A syscall and what a filter does with it."""

    arch: str
    arch_token: int
    call: Optional[str]
    nr: int
    args: Tuple[int, ...]
    instruction_pointer: int
    text: str
    """The syscall for people, such as socket(AF_VSOCK)."""

    def __str__(self) -> str:
        return f"{self.arch} {self.text}: {self.verdict}"


@dataclass(frozen=True)
class Finding:
    """A mistake in a filter, or a way to evade it."""

    id: str
    """The identifier of the check, which does not change, such as high-bits."""
    level: str
    """note, warning or error; an error means that a program can evade a rule."""
    filter: str
    """The name of the filter, if the source has several."""
    file: str
    """The source, or a file that it includes."""
    line: Optional[int]
    """None if the finding is about the filter as a whole."""
    column: Optional[int]
    arches: Tuple[str, ...]
    syscalls: Tuple[str, ...]
    title: str
    """What the check finds in general."""
    message: str
    """What it found here."""
    help: str
    """What to do about it."""
    examples: Tuple[Example, ...]
    """Syscalls that show it, with the verdicts of the filter."""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}:{self.column}"
        return f"{place}: {self.level}[{self.id}]: {self.message}"


class Findings(List[Finding]):
    """Findings, the most serious first; empty, and so false, if there are none of the level and above."""

    below_level: int
    """The number of findings below the level."""
    silenced: int
    """The number of findings that `allow` or comments in the text silence."""

    def __init__(self, items: Iterable[Finding] = (), below_level: int = 0, silenced: int = 0) -> None:
        super().__init__(items)
        self.below_level = below_level
        self.silenced = silenced

    def rows(self) -> List[Dict[str, Any]]:
        """A dict for each finding, for data frames."""
        keys = ("id", "level", "file", "line", "column", "message", "help")
        return [{key: getattr(finding, key) for key in keys} for finding in self]


def lint(
    filter: SourceLike,
    *,
    level: Literal["note", "warning", "error"] = "warning",
    allow: Iterable[str] = (),
    **options: Unpack[SourceOptions],
) -> Findings:
    """Mistakes in a filter, and ways to evade it, of this level and above.

    `allow` silences checks, each "ID" or "ID=SYSCALL"; the comment `callgate: allow(ID)` in the text does, too. The warnings
    of the reader are among the findings. Options: SourceOptions.
    """
    if isinstance(allow, str):
        raise TypeError("allow must be a list of identifiers, not a str")
    request = request_of("lint", {"source": filter}, options)
    request.update(level=level, allow=list(allow))
    result, _ = ask(request)
    return Findings(map(finding, result["findings"]), result["below_level"], result["silenced"])


def finding(item: Mapping[str, Any]) -> Finding:
    """A finding in an answer."""
    examples = tuple(Example(**{**one, "args": tuple(one["args"])}) for one in item["examples"])
    own = {"arches": tuple(item["arches"]), "syscalls": tuple(item["syscalls"]), "examples": examples}
    return Finding(**{**item, **own})
