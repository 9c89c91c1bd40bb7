"""Options of functions, as keyword arguments."""

from __future__ import annotations

from typing import Collection, Mapping, Sequence, TypedDict, Union

__all__ = ["CompileAndInstallOptions", "CompileOptions", "InstallOptions", "SourceOptions"]


class SourceOptions(TypedDict, total=False):
    """How a source is read."""

    name: str
    """The name in messages. Without a format, its extension helps to recognize it."""
    format: str
    """A name such as docker or kafel, as before the colon of a source of the command, or bpftext.
    Without it, the content decides."""
    arches: Sequence[str]
    """The architectures, such as x86_64 or SCMP_ARCH_X86_64.
    The default is those of the source that the machine supports."""
    machine: str
    """The architecture of the machine for which filters are compiled; the default is this machine."""
    kernel: str
    """The kernel version for conditions of a profile, such as "6.12"; the default is the running kernel."""
    caps: str
    """The capabilities for conditions of a profile.
    docker (the default), all, none, or a list such as CAP_CHOWN,CAP_KILL."""
    enosys_above: str
    """Whether syscalls newer than all that a profile names fail with ENOSYS: on, runc-1.1 or off."""
    systemd: str
    """The version of systemd for units, such as "257"."""
    part: str
    """The part of a text with several: the name of a resource of Kubernetes, or the thread of a document of Firecracker."""
    files: Mapping[str, Union[str, bytes]]
    """The files that a policy includes, or base profiles, by the names that the source uses."""
    strict: bool
    """Whether unknown names of syscalls are errors instead of warnings."""
    endian: str
    """The byte order of a program, little or big."""
    define: Sequence[str]
    """Macros with which C as text is read: "NAME=VALUE", or "NAME" for 1."""
    undefine: Sequence[str]
    """Macros that are not defined when C as text is read."""
    set: Mapping[str, Union[int, str]]
    """The values of variables."""


class CompileOptions(SourceOptions, total=False):
    """How a source is read, and how it is compiled."""

    model: str
    """The cost model of the kernel: cached (Linux 5.11 and later, the default) or uncached."""
    optimize: str
    """speed (the fewest executed instructions, the default) or size (the shortest program)."""
    instructions: str
    """all (the default), or basic: those that libseccomp's simulator executes."""
    weights: str
    """How often syscalls occur: a name and a count per line, a recording, or a table of strace -c."""


class InstallOptions(TypedDict, total=False):
    """How a filter is installed.

    `tsync` and `no_new_privs` are True if they are not given. The other flags are then those of the source; an option that is
    given wins over the source.
    """

    tsync: bool
    """Whether all threads of the process get the filter, or none if one has a filter of its own. Otherwise, only the calling
    thread and what it starts afterwards have the filter."""
    no_new_privs: bool
    """Whether no_new_privs is set first. Without it, which needs CAP_SYS_ADMIN, programs that the process starts may gain
    privileges, such as those of sudo."""
    log: bool
    """Whether the kernel logs every verdict but ALLOW."""
    spec_allow: bool
    """Whether the mitigation for Speculative Store Bypass stays disabled."""
    wait_killable: bool
    """Whether only fatal signals interrupt a syscall that the listener has received (Linux 5.19)."""


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
