package callgate

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// flags are the flags of seccomp(2) by the names in Program.Flags.
var flags = map[string]uintptr{
	"SECCOMP_FILTER_FLAG_TSYNC":              unix.SECCOMP_FILTER_FLAG_TSYNC,
	"SECCOMP_FILTER_FLAG_LOG":                unix.SECCOMP_FILTER_FLAG_LOG,
	"SECCOMP_FILTER_FLAG_SPEC_ALLOW":         unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW,
	"SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV": 1 << 5,
}

// A ThreadError says that a thread has another filter or mode, so that the filter was installed in no thread.
type ThreadError struct {
	// ID is the thread ID of the thread.
	ID int
}

func (e *ThreadError) Error() string {
	return fmt.Sprintf("callgate: thread %d has other filters, so the filter was not installed", e.ID)
}

// SockFilters is the program for the package unix.
func (p *Program) SockFilters() []unix.SockFilter {
	filters := make([]unix.SockFilter, len(p.Instructions))
	for at, one := range p.Instructions {
		filters[at] = unix.SockFilter{Code: one.Code, Jt: one.Jt, Jf: one.Jf, K: one.K}
	}
	return filters
}

// FromSockFilters is a program of the package unix as instructions.
func FromSockFilters(filters []unix.SockFilter) []Instruction {
	instructions := make([]Instruction, len(filters))
	for at, one := range filters {
		instructions[at] = Instruction{Code: one.Code, Jt: one.Jt, Jf: one.Jf, K: one.K}
	}
	return instructions
}

// notifies is whether the program returns USER_NOTIF.
func (p *Program) notifies() bool {
	const returnConstant = 0x06
	return slices.ContainsFunc(p.Instructions, func(one Instruction) bool {
		return one.Code == returnConstant && one.K&0xffff0000 == unix.SECCOMP_RET_USER_NOTIF
	})
}

// Install sets no_new_privs and installs the filter in all threads of the process, with the flags of the source and these
// (unix.SECCOMP_FILTER_FLAG_…). It cannot be undone. If a thread cannot be synchronized, the error is a *ThreadError and no
// thread has the filter, but no_new_privs is set in the calling thread.
//
// A flag for a listener is an error: the descriptor would be lost. So is a program that notifies a listener (USER_NOTIF):
// without one, the kernel would fail these syscalls with ENOSYS.
func (p *Program) Install(more ...uintptr) error {
	all := uintptr(unix.SECCOMP_FILTER_FLAG_TSYNC)
	for _, name := range p.Flags {
		flag, known := flags[name]
		if !known {
			return fmt.Errorf("callgate: unknown flag %s", name)
		}
		all |= flag
	}
	for _, flag := range more {
		all |= flag
	}
	if all&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER != 0 {
		return fmt.Errorf("callgate: SECCOMP_FILTER_FLAG_NEW_LISTENER is not for Install; use SockFilters with seccomp(2)")
	}
	if p.notifies() {
		return errors.New("callgate: the filter notifies a listener (USER_NOTIF), and Install has none: use SockFilters with " +
			"seccomp(2) and SECCOMP_FILTER_FLAG_NEW_LISTENER, which returns the listener, or another action")
	}
	if len(p.Instructions) == 0 || len(p.Instructions) > unix.BPF_MAXINSNS {
		return fmt.Errorf("callgate: a program has 1 to %d instructions, not %d", unix.BPF_MAXINSNS, len(p.Instructions))
	}
	filters := p.SockFilters()
	program := unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}
	// Both syscalls must come from one thread; TSYNC then gives no_new_privs and the filter to the others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("callgate: no_new_privs: %w", err)
	}
	thread, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, all,
		uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filters)
	switch {
	case errno != 0:
		return fmt.Errorf("callgate: seccomp: %w", errno)
	case thread != 0:
		return &ThreadError{ID: int(thread)}
	}
	return nil
}
