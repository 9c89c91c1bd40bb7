"""Seccomp filters: any description of a filter to a small, fast program that is proved equivalent to it.

    program = callgate.compile(Path("profile.json"))    # Docker's JSON, Kafel, a systemd unit, ...
    program.install()                                   # all threads, no_new_privs
    callgate.install(Path("profile.json"))              # the same

Functions take a filter as a text, a path, a dict, a program or a Source, and options by keyword (SourceOptions,
CompileOptions). What is wrong with a filter is a CallgateError with line, column and advice. All functions are safe to
call from several threads, which work at the same time.
"""

from __future__ import annotations

import sys

from ._engine import answer
from ._errors import CallgateError, Diagnostic, InstallError
from ._explanation import ArchExplanation, Clause, Condition, Explanation, Group, Outcome, Unnamed
from ._functions import compile, compile_template, diff, install, merge, optimize, subset
from ._lint import Example, Finding, Findings, lint
from ._options import CompileAndInstallOptions, CompileOptions, InstallOptions, SourceOptions
from ._program import Program, explain, simulate
from ._recording import Recording, recording
from ._results import Decision, Difference, Differences, Simulated
from ._source import AsSource, Instruction, Source, SourceLike, expression, preset
from ._template import Patch, Template, Variable
from ._verdict import Verdict

if sys.platform == "linux":
    from ._listener import Listener, Notification

# The names in tracebacks.
CallgateError.__module__ = InstallError.__module__ = __name__

__all__ = [
    "ArchExplanation",
    "AsSource",
    "CallgateError",
    "Clause",
    "CompileAndInstallOptions",
    "CompileOptions",
    "Condition",
    "Decision",
    "Diagnostic",
    "Difference",
    "Differences",
    "Example",
    "Explanation",
    "Finding",
    "Findings",
    "Group",
    "InstallError",
    "InstallOptions",
    "Instruction",
    "Outcome",
    "Patch",
    "Program",
    "Recording",
    "Simulated",
    "Source",
    "SourceLike",
    "SourceOptions",
    "Template",
    "Unnamed",
    "Variable",
    "Verdict",
    "answer",
    "compile",
    "compile_template",
    "diff",
    "explain",
    "expression",
    "install",
    "lint",
    "merge",
    "optimize",
    "preset",
    "recording",
    "simulate",
    "subset",
]
if sys.platform == "linux":
    __all__ += ["Listener", "Notification"]
