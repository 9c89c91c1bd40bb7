"""What makes, installs and compares programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Literal, Optional, overload

from ._engine import ask
from ._options import INSTALLING
from ._program import Program, program
from ._results import Differences, difference
from ._source import SourceLike, request_of
from ._template import Template, template

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._listener import Listener
    from ._options import CompileAndInstallOptions, CompileOptions, SourceOptions

__all__ = ["compile", "compile_template", "diff", "install", "merge", "optimize", "subset"]


def compile(filter: SourceLike, **options: Unpack[CompileOptions]) -> Program:
    """The program of a filter: see Source for what a filter may be, and CompileOptions for the options.

    Raises CallgateError if the filter is wrong, too complex or too long.
    """
    return program(*ask(request_of("compile", {"source": filter}, options)))


def compile_template(filter: SourceLike, **options: Unpack[CompileOptions]) -> Template:
    """The program of a filter with variables, which get their values later; proved for all values.

    Raises CallgateError as `compile`.
    """
    return template(*ask(request_of("template", {"source": filter}, options)))


@overload
def install(
    filter: SourceLike, *, new_listener: Literal[False] = False, **options: Unpack[CompileAndInstallOptions]
) -> None: ...


@overload
def install(
    filter: SourceLike, *, new_listener: Literal[True], **options: Unpack[CompileAndInstallOptions]
) -> Listener: ...


@overload
def install(
    filter: SourceLike, *, new_listener: bool, **options: Unpack[CompileAndInstallOptions]
) -> Optional[Listener]: ...


def install(
    filter: SourceLike, *, new_listener: bool = False, **options: Unpack[CompileAndInstallOptions]
) -> Optional[Listener]:
    """Compiles a filter and installs it: `compile` and Program.install. Options: CompileOptions and InstallOptions.

    Raises CallgateError as `compile`, and InstallError as Program.install.
    """
    installing: Any = {name: value for name, value in options.items() if name in INSTALLING}
    compiling: Any = {name: value for name, value in options.items() if name not in INSTALLING}
    return compile(filter, **compiling).install(new_listener=new_listener, **installing)


def optimize(filter: SourceLike, **options: Unpack[CompileOptions]) -> Program:
    """A better program with the same meaning as a given one, or the given one; Program.reason is then why."""
    return program(*ask(request_of("optimize", {"source": filter}, options)))


def merge(filters: Iterable[SourceLike], **options: Unpack[CompileOptions]) -> Program:
    """One program for the filters of a stack, the oldest first. Options override those of each filter."""
    result, warnings = ask(request_of("merge", {"sources": filters}, options))
    return program(result, warnings, " + ".join(result["sources"]))


def diff(a: SourceLike, b: SourceLike, **options: Unpack[SourceOptions]) -> Differences:
    """The syscalls for which two filters differ.

    None if they are equivalent for all syscalls, arguments and architectures. All 64 bits of arguments count, also
    those that the kernel ignores. Options override those of both.
    """
    result, warnings = ask(request_of("diff", {"a": a, "b": b}, options))
    return Differences(map(difference, result["differences"]), warnings)


def subset(a: SourceLike, b: SourceLike, **options: Unpack[SourceOptions]) -> Differences:
    """The syscalls for which `a` is looser than `b`.

    None if `a` allows nothing that `b` does not, as the kernel reads arguments: of an `int`, only the low 32 bits
    count. Options override those of both.
    """
    result, warnings = ask(request_of("subset", {"a": a, "b": b}, options))
    return Differences(map(difference, result["witnesses"]), warnings)
