"""Programs."""

from __future__ import annotations

import errno
import struct
import sys
from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING, Any, Dict, Iterator, Literal, Mapping, Optional, Tuple, Union, overload

from . import _native
from ._engine import ask
from ._errors import CallgateError, Diagnostic, InstallError
from ._explanation import Explanation, explanation
from ._options import FLAGS, INSTALLING, check_names
from ._results import Simulated, simulated
from ._source import AsSource, Instruction, request_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._listener import Listener
    from ._options import CompileOptions, InstallOptions, SourceOptions
    from ._source import SourceLike

__all__ = ["Program"]


@dataclass(frozen=True, repr=False)
class Program(AsSource):
    """A filter that the kernel accepts, proved equivalent to its source. `compile` makes it.

    One with other instructions, which `dataclasses.replace` or Program itself makes, is not proved, and `install` refuses it.
    """

    insns: Tuple[Instruction, ...]
    """The instructions."""
    name: str
    """The name of the source."""
    arches: Tuple[str, ...]
    """The architectures of the source."""
    endian: str
    """The byte order of its machines, little or big."""
    flags: Tuple[str, ...]
    """The flags with which the source wants to be installed, such as SECCOMP_FILTER_FLAG_LOG."""
    filtered_insns: Optional[float]
    """The mean number of instructions executed by permitted syscalls for which every kernel runs the filter; None if there are
    none, if the diagram is too large to tell, or if the program has variables."""
    expected_insns: Optional[float]
    """The mean number of instructions that a syscall executes before Linux 5.11; None if no syscall is permitted, if
    the diagram is too large to tell, or if the program has variables."""
    constant_allow: int
    """The number of syscalls that the kernel allows without running the filter (Linux 5.11 and later)."""
    nodes: Optional[int]
    """The number of nodes of the decision diagram: 0 if it was not needed, None if the program was not compiled."""
    reason: Optional[str] = None
    """Why `optimize` returned the given program; None if it did not."""
    warnings: Tuple[Diagnostic, ...] = field(default=(), compare=False)
    """The messages about the source that are not errors."""
    _proved_insns: Optional[Tuple[Instruction, ...]] = field(default=None, repr=False, compare=False)
    # The instructions that were proved; None if none were.

    @property
    def proved(self) -> bool:
        """Whether the instructions were proved equivalent to the source: False for a program that was made by hand or changed,
        and if `optimize` returned the given one."""
        return self._proved_insns is not None and self._proved_insns == self.insns

    def __len__(self) -> int:
        return len(self.insns)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.insns)

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    def to_bytes(self) -> bytes:
        """The program as an array of struct sock_filter, in the byte order of its machines."""
        return self._packed("<" if self.endian == "little" else ">")

    def _packed(self, order: str) -> bytes:
        pack = struct.Struct(order + "HBBI").pack
        return b"".join(pack(*insn) for insn in self.insns)

    def simulate(
        self, syscall: Union[str, int], *args: Union[str, int], arch: Optional[str] = None, instruction_pointer: int = 0
    ) -> Simulated:
        """The verdict for a syscall; see the function `simulate`."""
        return simulate(self, syscall, *args, arch=arch, instruction_pointer=instruction_pointer)

    def explain(self, *syscalls: Union[str, int]) -> Explanation:
        """What the program does with these syscalls, names or numbers; with all if none are given."""
        return explain(self, *syscalls)

    @overload
    def install(self, *, new_listener: Literal[False] = False, **options: Unpack[InstallOptions]) -> None: ...

    @overload
    def install(self, *, new_listener: Literal[True], **options: Unpack[InstallOptions]) -> Listener: ...

    @overload
    def install(self, *, new_listener: bool, **options: Unpack[InstallOptions]) -> Optional[Listener]: ...

    def install(self, *, new_listener: bool = False, **options: Unpack[InstallOptions]) -> Optional[Listener]:
        """Sets no_new_privs and installs the filter in all threads of the process, or in none. It cannot be undone.

        Options: InstallOptions. The flags of the source are set as well, but for those that an option excludes, such as
        `tsync=False`. A filter that notifies needs `new_listener=True`, which returns the Listener that answers; for one that
        never notifies, that is an error.

        Raises InstallError if the kernel refuses; then no filter was installed, but no_new_privs may be set. Nothing is
        changed if the program is not `proved`, or if it is for other architectures (`arches`) and denies exit_group of this one.
        """
        check_names(options, INSTALLING)
        if not self.proved:
            what = "nothing is proved of these instructions"
            if self._proved_insns is not None:
                what = "the instructions were changed after they were proved"
            raise InstallError(errno.EINVAL, what, "compile the policy, or use `install_unproved`")
        return self._install(new_listener, options)

    @overload
    def install_unproved(self, *, new_listener: Literal[False] = False, **options: Unpack[InstallOptions]) -> None: ...

    @overload
    def install_unproved(self, *, new_listener: Literal[True], **options: Unpack[InstallOptions]) -> Listener: ...

    @overload
    def install_unproved(self, *, new_listener: bool, **options: Unpack[InstallOptions]) -> Optional[Listener]: ...

    def install_unproved(self, *, new_listener: bool = False, **options: Unpack[InstallOptions]) -> Optional[Listener]:
        """Like `install`, but does not check that the instructions were proved: they are installed as they are."""
        check_names(options, INSTALLING)
        return self._install(new_listener, options)

    def _install(self, new_listener: bool, options: InstallOptions) -> Optional[Listener]:
        if sys.platform != "linux":
            raise InstallError(errno.ENOSYS, "seccomp exists only on Linux")
        given: Mapping[str, object] = options
        flags = {*self.flags, FLAGS["tsync"]}
        for name, flag in FLAGS.items():
            if name in given:
                flags = flags | {flag} if given[name] else flags - {flag}
        no_new_privs = options.get("no_new_privs", True)
        fd = _native.install(self._packed("="), list(self.arches), sorted(flags), no_new_privs, new_listener)
        if fd is None:
            return None
        from ._listener import Listener

        return Listener(fd)

    def __repr__(self) -> str:
        expected = "" if self.expected_insns is None else f", {self.expected_insns:g} expected"
        return (
            f"<callgate.Program {self.name!r}: {len(self.insns)} instructions{expected}, "
            f"{self.constant_allow} constant allow, {' '.join(self.arches)}>"
        )

    def _repr_html_(self) -> str:
        from ._html import table

        figures = [
            ("instructions", str(len(self.insns))),
            ("executed where the filter runs, mean", _mean(self.filtered_insns)),
            ("executed before Linux 5.11, mean", _mean(self.expected_insns)),
            ("constant allow", str(self.constant_allow)),
            ("proved", "yes" if self.proved else "no"),
        ]
        try:
            explained: Optional[Explanation] = self.explain()
        except CallgateError:
            explained = None
        return table(self.name, figures, explained)

    def _as_source(self) -> Tuple[Tuple[Instruction, ...], str, Dict[str, Any]]:
        return self.insns, self.name, {"arches": self.arches, "endian": self.endian}


def _mean(mean: Optional[float]) -> str:
    return "-" if mean is None else f"{mean:g}"


def program(result: Mapping[str, Any], warnings: Tuple[Diagnostic, ...], name: Optional[str] = None) -> Program:
    """The program in an answer."""
    insns = tuple(Instruction(*insn) for insn in result["program"])
    return Program(
        insns=insns,
        name=result["source"] if name is None else name,
        arches=tuple(result["arches"]),
        endian=result["endian"],
        flags=tuple(result["flags"]),
        filtered_insns=result["filtered_insns"],
        expected_insns=result["expected_insns"],
        constant_allow=result["constant_allow"],
        nodes=result.get("nodes"),
        reason=result.get("reason"),
        warnings=warnings,
        _proved_insns=insns if result["proved"] else None,
    )


def explain(filter: SourceLike, *syscalls: Union[str, int], **options: Unpack[SourceOptions]) -> Explanation:
    """What a filter does with these syscalls, names or numbers; with all if none are given. Options: SourceOptions."""
    request = request_of("explain", {"source": filter}, options)
    if syscalls:
        request["syscalls"] = [word(one) for one in syscalls]
    return explanation(*ask(request))


def simulate(
    filter: SourceLike,
    syscall: Union[str, int],
    *args: Union[str, int],
    arch: Optional[str] = None,
    instruction_pointer: int = 0,
    **options: Unpack[CompileOptions],
) -> Simulated:
    """The verdict for a syscall; a profile is compiled first.

    The syscall is a name or a number. Arguments are numbers or constants such as "O_RDWR|O_CLOEXEC"; those that are not
    given are 0. `arch` is the ABI of the syscall; the default is that of the machine if the filter supports it.
    Options: CompileOptions.
    """
    request = request_of("simulate", {"source": filter}, options)
    request.update(syscall=word(syscall), args=[word(arg) for arg in args])
    request["instruction_pointer"] = index(instruction_pointer)
    if arch is not None:
        request["arch"] = arch
    return simulated(*ask(request))


def word(value: Union[str, int]) -> str:
    """A name, or a number in digits, because numbers above 2 ** 53 must keep all of them."""
    return value if isinstance(value, str) else str(index(value))
