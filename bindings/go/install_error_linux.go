package callgate

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// An InstallReason is why a filter was not installed.
type InstallReason string

// The reasons of an [InstallError].
const (
	// ReasonUnproved: Install or InstallListener for a program that is not as it was proved.
	ReasonUnproved InstallReason = "unproved"
	// ReasonNotifies: the filter notifies a listener, and Install has none.
	ReasonNotifies InstallReason = "notifies"
	// ReasonNeverNotifies: InstallListener for a filter that never notifies.
	ReasonNeverNotifies InstallReason = "never notifies"
	// ReasonLength: the program has no instructions, or more than the kernel accepts.
	ReasonLength InstallReason = "length"
	// ReasonArch: Program.Arches lack the architecture of this process, and the program does not permit exit_group of it.
	ReasonArch InstallReason = "architecture"
	// ReasonFlags: the kernel does not know the flags, or they do not fit to the filter; InstallError.Flags has their names.
	ReasonFlags InstallReason = "flags"
	// ReasonPrivileges: without no_new_privs, the process needs CAP_SYS_ADMIN.
	ReasonPrivileges InstallReason = "privileges"
	// ReasonThread: a thread has another filter; InstallError.Thread is its ID if the kernel says it.
	ReasonThread InstallReason = "thread"
	// ReasonListener: an installed filter has a listener already.
	ReasonListener InstallReason = "listener"
	// ReasonMemory: the filters of the thread together are too long.
	ReasonMemory InstallReason = "memory"
	// ReasonNoSeccomp: the kernel has no seccomp filters, or a sandbox denies the syscall.
	ReasonNoSeccomp InstallReason = "no seccomp"
	// ReasonKernel: the kernel refuses for another reason; InstallError.Errno says which.
	ReasonKernel InstallReason = "kernel"
)

// An InstallError says why a filter was not installed. Use [errors.As] to get it; [errors.Is] finds its error number, such as
// unix.EACCES.
type InstallError struct {
	Reason InstallReason
	// Errno is the error number of the kernel, or the nearest one if the kernel gave none: ESRCH if it named a thread, ENOTSUP
	// for ReasonNotifies, and otherwise EINVAL.
	Errno unix.Errno
	// Thread is the ID of the thread for ReasonThread; 0 if it is unknown.
	Thread int
	// Flags are the names of the flags for ReasonFlags.
	Flags []string
	// Message says what is wrong, and Help what to do.
	Message, Help string
}

// Error is the message with the help in a second line.
func (e *InstallError) Error() string {
	return "callgate: " + e.Message + "\n  help: " + e.Help
}

// Unwrap is Errno.
func (e *InstallError) Unwrap() error {
	return e.Errno
}

// refused is an error with the fields that all have.
func refused(reason InstallReason, errno unix.Errno, message, help string) *InstallError {
	return &InstallError{Reason: reason, Errno: errno, Message: message, Help: help}
}

// threadError is the error for a thread that cannot be synchronized; 0 if it is unknown.
func threadError(id int) *InstallError {
	which := "a thread"
	if id != 0 {
		which = fmt.Sprintf("thread %d", id)
	}
	err := refused(ReasonThread, unix.ESRCH, which+" of this process has another filter, so the filter was installed in no thread",
		"install the filter before others, or with ThisThread")
	err.Thread = id
	return err
}

// sandboxMayDeny is the help for a syscall that fails as if a filter denied it.
func sandboxMayDeny(syscall string) string {
	return "the filter of a sandbox around this process may deny " + syscall + "; check its policy"
}

// newPrivsError is the error for no_new_privs.
func newPrivsError(cause error) *InstallError {
	err := refused(ReasonKernel, unix.EINVAL, fmt.Sprintf("no_new_privs cannot be set: %v", cause), sandboxMayDeny("prctl(2)"))
	errors.As(cause, &err.Errno)
	return err
}

// kernelError is the error for an error of seccomp(2).
func kernelError(errno unix.Errno, how installation, instructions int) *InstallError {
	because := func(reason InstallReason, message, help string) *InstallError {
		return refused(reason, errno, message, help)
	}
	switch errno {
	case unix.EACCES:
		const message = "the kernel requires no_new_privs or CAP_SYS_ADMIN"
		if how.keepsNewPrivileges {
			return because(ReasonPrivileges, message,
				"omit WithoutNoNewPrivs, or install the filter before giving up CAP_SYS_ADMIN")
		}
		return because(ReasonPrivileges, message+", although no_new_privs is set", sandboxMayDeny("seccomp(2)"))
	case unix.EBUSY:
		return because(ReasonListener, "a filter that is already installed has a listener, and the kernel allows one",
			"install the filter with the listener first and only once")
	case unix.ESRCH:
		return threadError(0)
	case unix.ENOMEM:
		message := fmt.Sprintf("no room for another %d instructions: all filters of a thread together have at most 32768, "+
			"counted as eBPF", instructions)
		return because(ReasonMemory, message,
			"install fewer filters, or merge them into one; `grep Seccomp_filters /proc/self/status` counts them")
	case unix.ENOSYS:
		return because(ReasonNoSeccomp, "this kernel lacks seccomp(2), or a sandbox denies it",
			"use Linux 3.17 or later with CONFIG_SECCOMP_FILTER, or only ThisThread, which prctl(2) does as well")
	case unix.EINVAL:
		if !knowsFlags(0) {
			return because(ReasonNoSeccomp, "this kernel has no seccomp filters",
				"use a kernel with CONFIG_SECCOMP_FILTER (zgrep SECCOMP /proc/config.gz)")
		}
		if unknown := unknownFlags(how.flags); len(unknown) > 0 {
			err := because(ReasonFlags, "this kernel does not know "+strings.Join(unknown, ", "),
				"omit these flags, or use a newer kernel")
			err.Flags = unknown
			return err
		}
		return because(ReasonKernel, "the kernel refuses the program: invalid argument",
			"please report this with the program and the version of the kernel")
	}
	help := "see seccomp(2)"
	if errno == unix.EPERM {
		help = sandboxMayDeny("seccomp(2)")
	}
	return because(ReasonKernel, fmt.Sprintf("the filter cannot be installed: %v", errno), help)
}
