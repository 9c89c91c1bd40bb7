"""Messages about sources, and the exceptions of this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Optional, Tuple

__all__ = ["CallgateError", "Diagnostic", "InstallError"]


@dataclass(frozen=True)
class Diagnostic:
    """A message about a source."""

    severity: str
    """``"error"`` or ``"warning"``."""
    message: str
    """What is wrong."""
    help: str = ""
    """What to do; may be empty."""
    source: Optional[str] = None
    """The name of the source; None if the message is about the request."""
    line: Optional[int] = None
    """The line, which starts at 1; None if the message is not about a position."""
    column: Optional[int] = None
    """The column in characters, which starts at 1; None without a line."""

    def __str__(self) -> str:
        """The message as compilers print it, with the help in a second line."""
        position = "" if self.line is None else f":{self.line}:{self.column}"
        place = "" if self.source is None else f"{self.source}{position}: "
        advice = f"\n  help: {self.help}" if self.help else ""
        return f"{place}{self.severity}: {self.message}{advice}"


class CallgateError(ValueError):
    """Why there is no result. Its text is that of all errors, with positions and advice."""

    diagnostics: Tuple[Diagnostic, ...]
    """All errors, and the warnings between them, in the order of the source."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n".join(str(one) for one in self.diagnostics if one.severity == "error")


class InstallError(OSError):
    """A filter was not installed. Its text says why, and what to do about it."""

    errno: int
    """The error number of the kernel, or the nearest one if the kernel was not asked."""
    strerror: str
    """What is wrong."""
    help: str
    """What to do; may be empty."""
    syscall: Optional[str]
    """The syscall that failed, seccomp or prctl; None if none was made."""
    thread: Optional[int]
    """The ID of the thread that cannot have the filter, if that is why and the kernel says it."""

    def __init__(
        self, errno: int, message: str, help: str = "", syscall: Optional[str] = None, thread: Optional[int] = None
    ) -> None:
        super().__init__(errno, message)
        self.help, self.syscall, self.thread = help, syscall, thread

    def __str__(self) -> str:
        return f"{self.strerror}\n  help: {self.help}" if self.help else self.strerror


def failure(message: str, help: str = "", source: Optional[str] = None) -> CallgateError:
    """An error without a position."""
    return CallgateError([Diagnostic("error", message, help, source)])


def diagnostics(items: Iterable[Mapping[str, Any]]) -> Tuple[Diagnostic, ...]:
    """The messages in an answer."""
    return tuple(Diagnostic(**item) for item in items)
