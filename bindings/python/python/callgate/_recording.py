"""Recordings of syscalls."""

from __future__ import annotations

import os
import shlex
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from . import _native
from ._engine import MAX_REQUEST, ask, checked_text
from ._errors import Diagnostic

__all__ = ["Recording", "recording"]


class Recording(List[Dict[str, Any]]):
    """A dict for each syscall; `recording` documents the keys. pandas.DataFrame takes it."""

    runs: Tuple[Mapping[str, Any], ...]
    """The recorded runs: how, command, processes, threads, lost, status and kernel."""
    caveats: Tuple[Mapping[str, Any], ...]
    """Why the recording may have fewer, more or other syscalls than the command makes: id, effect, count and text."""
    warnings: Tuple[Diagnostic, ...]
    """The messages about the text that are not errors."""

    def __init__(
        self,
        rows: Iterable[Dict[str, Any]] = (),
        runs: Iterable[Mapping[str, Any]] = (),
        caveats: Iterable[Mapping[str, Any]] = (),
        warnings: Iterable[Diagnostic] = (),
    ) -> None:
        super().__init__(rows)
        self.runs, self.caveats, self.warnings = tuple(runs), tuple(caveats), tuple(warnings)


def recording(
    text: Union[str, bytes, "os.PathLike[str]"],
    *,
    name: Optional[str] = None,
    machine: Optional[str] = None,
    strict: bool = False,
    partial: bool = False,
) -> Recording:
    """A recording as a list of dicts, one for each command, architecture and syscall.

    The text, or the file of a path, is a recording of `callgate record`, a strace log, audit records, or a table of
    counts. `machine` is the architecture of a log that names none. `strict` makes unknown names errors; `partial` reads
    what is complete in a truncated recording.

    The keys of a dict:

    - command: the command as a line for the shell; None if it is not known, or if runs of several were merged;
    - arch, call, nr: the architecture; the name, None if the number has none; the number;
    - count, runs: how often the syscall was made, and in how many runs;
    - arg0 to arg5: a list of all values of the argument; a dict with min, max, ever and always if there were more than
      32; None if the value is not known for every occurrence, or the syscall has no such argument.

    Raises CallgateError for what is not a recording.
    """
    if isinstance(text, os.PathLike):
        name = name or str(os.fspath(text))
        with open(text, "rb") as file:
            text = file.read(MAX_REQUEST + 1)
    elif not isinstance(text, (str, bytes)):
        raise TypeError(f"a recording is a text or a path, not {type(text).__name__}")
    name = name or "recording"
    request = {"request": "recording", "machine": machine or _native.MACHINE, "name": name}
    options = {"text": checked_text(text, name), "strict": bool(strict), "partial": bool(partial)}
    result, warnings = ask({**request, **options})
    commands = {shlex.join(run["command"]) for run in result["runs"]}
    command = commands.pop() or None if len(commands) == 1 else None
    rows = [row(command, call) for call in result["calls"]]
    return Recording(rows, result["runs"], result["caveats"], warnings)


def row(command: Optional[str], call: Mapping[str, Any]) -> Dict[str, Any]:
    """A syscall as a flat dict."""
    flat = {"command": command, **{key: call[key] for key in ("arch", "call", "nr", "count", "runs")}}
    for at in range(6):
        flat[f"arg{at}"] = values(call["args"][at], call["count"]) if at < len(call["args"]) else None
    return flat


def values(arg: Optional[Dict[str, Any]], count: int) -> Any:
    """The values of an argument, if they are known for every occurrence."""
    if arg is None or arg["observed"] < count:
        return None
    return arg["values"] if "values" in arg else {key: arg[key] for key in ("min", "max", "ever", "always")}
