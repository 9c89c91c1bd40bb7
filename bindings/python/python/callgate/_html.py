"""Tables for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, List, Optional, Sequence, Tuple

if TYPE_CHECKING:
    from ._explanation import Explanation

# The number of names in a row before the rest is only counted.
SHOWN = 8


def table(title: str, figures: Sequence[Tuple[str, str]], explained: Optional[Explanation]) -> str:
    """A table of figures, and of verdicts by groups of syscalls."""
    rows: List[str] = [row([name, "", value]) for name, value in figures]
    for arch in explained.arches if explained else ():
        for group in sorted(arch.groups, key=lambda group: -len(group.calls)):
            names = [name for _, name in group.calls]
            more = f" … {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            calls = "1 syscall" if len(names) == 1 else f"{len(names)} syscalls"
            rows.append(row([f"{arch.arch}: {group.outcome}", calls, " ".join(names[:SHOWN]) + more]))
    return f"<table><caption>{escape(title)}</caption><tbody>{''.join(rows)}</tbody></table>"


def row(cells: Sequence[str]) -> str:
    """A row; the first cell is its header."""
    first, *others = map(escape, cells)
    return f"<tr><th>{first}</th>" + "".join(f"<td>{cell}</td>" for cell in others) + "</tr>"
