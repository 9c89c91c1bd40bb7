"""Options of functions, as keyword arguments."""

from __future__ import annotations

from typing import Collection, Mapping, Sequence, TypedDict, Union

__all__ = ["CompileAndInstallOptions", "CompileOptions", "InstallOptions", "SourceOptions"]


class SourceOptions(TypedDict, total=False):
    """How a source is read.

    name: the name in messages. Without a format, its extension helps to recognize it.
    format: a name such as docker or kafel, as before the colon of a source of the command, or bpftext. Without it, the
        content decides.
    arches: the architectures, such as x86_64 or SCMP_ARCH_X86_64. The default is those of the source that the machine
        supports.
    machine: the architecture of the machine for which filters are compiled; the default is this machine.
    kernel: the kernel version for conditions of a profile, such as "6.12"; the default is the running kernel.
    caps: the capabilities for conditions of a profile. docker (the default), all, none, or a list such as
        CAP_CHOWN,CAP_KILL.
    enosys_above: whether syscalls newer than all that a profile names fail with ENOSYS: on, runc-1.1 or off.
    libseccomp: the version of libseccomp that reads the names of syscalls, such as "2.5.3": rules for names that it does not
        know have no effect.
    runc: the version of runc that reads a profile, such as "1.1.12": its rule for new syscalls, and its libseccomp.
    crun: whether a profile is read as crun does, without a rule for new syscalls.
    systemd: the version of systemd for units, such as "257".
    minijail_semantics: the compiler of minijail that decides what a policy means, c or python.
    part: the part of a text with several: the name of a Kubernetes resource, the thread of a Firecracker document, or
        the name or line of an array in source code.
    files: the files that a policy includes, or base profiles, by the names that the source uses.
    strict: whether unknown names of syscalls are errors instead of warnings.
    endian: the byte order of a program, little or big.
    define: macros with which C as text is read: "NAME=VALUE", or "NAME" for 1.
    undefine: macros that are not defined when C as text is read.
    set: the values of variables.
    """

    name: str
    format: str
    arches: Sequence[str]
    machine: str
    kernel: str
    caps: str
    enosys_above: str
    libseccomp: str
    runc: str
    crun: bool
    systemd: str
    minijail_semantics: str
    part: str
    files: Mapping[str, Union[str, bytes]]
    strict: bool
    endian: str
    define: Sequence[str]
    undefine: Sequence[str]
    set: Mapping[str, Union[int, str]]


class CompileOptions(SourceOptions, total=False):
    """How a source is read, and how it is compiled.

    model: the cost model of the kernel: cached (Linux 5.11 and later, the default) or uncached.
    optimize: speed (the fewest executed instructions, the default) or size (the shortest program).
    instructions: all (the default), or basic: those that libseccomp's simulator executes.
    weights: how often syscalls occur: a name and a count per line, a recording, or a table of strace -c.
    """

    model: str
    optimize: str
    instructions: str
    weights: str


class InstallOptions(TypedDict, total=False):
    """How a filter is installed.

    `tsync` and `no_new_privs` are True if they are not given. The other flags are then those of the source; an option that is
    given wins over the source.

    tsync: whether all threads of the process get the filter, or none if one has a filter of its own. Otherwise, only the
        calling thread and what it starts afterwards have the filter.
    no_new_privs: whether no_new_privs is set first. Without it, which needs CAP_SYS_ADMIN, programs that the process starts
        may gain privileges, such as those of sudo.
    log: whether the kernel logs every verdict but ALLOW.
    spec_allow: whether the mitigation for Speculative Store Bypass stays disabled.
    wait_killable: whether only fatal signals interrupt a syscall that the listener has received (Linux 5.19).
    """

    tsync: bool
    no_new_privs: bool
    log: bool
    spec_allow: bool
    wait_killable: bool


class CompileAndInstallOptions(CompileOptions, InstallOptions, total=False):
    """How a source is read, compiled and installed."""


# The flags of seccomp(2), by the names of options.
FLAGS = {
    "tsync": "SECCOMP_FILTER_FLAG_TSYNC",
    "log": "SECCOMP_FILTER_FLAG_LOG",
    "spec_allow": "SECCOMP_FILTER_FLAG_SPEC_ALLOW",
    "wait_killable": "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV",
}
INSTALLING = frozenset(InstallOptions.__annotations__)
COMPILING = frozenset(["model", "optimize", "instructions", "weights"])
READING = frozenset(SourceOptions.__annotations__)


def check_names(options: Mapping[str, object], known: Collection[str]) -> None:
    """Raises TypeError for an unknown option."""
    for name in options:
        if name not in known:
            raise TypeError(f"unexpected option {name!r}")
