package callgate

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

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

// An InstallOption changes how a filter is installed.
type InstallOption func(*installation)

// installation is what an installation needs besides the program.
type installation struct {
	flags              uintptr
	keepsNewPrivileges bool
}

// ThisThread installs the filter in the calling thread only, and in threads and processes that it starts. The goroutine is
// locked to the thread ([runtime.LockOSThread]) and stays so: when it ends, the thread ends. Other goroutines, and threads that
// the runtime of Go starts for them, do not have the filter. The option wins over SECCOMP_FILTER_FLAG_TSYNC of the source.
func ThisThread() InstallOption {
	return func(i *installation) { i.flags &^= unix.SECCOMP_FILTER_FLAG_TSYNC }
}

// WithoutNoNewPrivs leaves no_new_privs as it is, so that programs with set-user-ID bits or file capabilities keep their
// meaning, as container runtimes do. If no_new_privs is not set, the kernel then requires CAP_SYS_ADMIN.
func WithoutNoNewPrivs() InstallOption {
	return func(i *installation) { i.keepsNewPrivileges = true }
}

// WithLog logs every verdict except ALLOW (SECCOMP_FILTER_FLAG_LOG).
func WithLog() InstallOption {
	return func(i *installation) { i.flags |= unix.SECCOMP_FILTER_FLAG_LOG }
}

// WithSpecAllow leaves the mitigation of Speculative Store Bypass disabled (SECCOMP_FILTER_FLAG_SPEC_ALLOW).
func WithSpecAllow() InstallOption {
	return func(i *installation) { i.flags |= unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW }
}

// WithWaitKillable lets only fatal signals interrupt a syscall after the listener has received its notification
// (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19). It is for [Program.InstallListener].
func WithWaitKillable() InstallOption {
	return func(i *installation) { i.flags |= unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV }
}

const waitKillable = "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"

// sourceFlags are the flags in Program.Flags. Which threads have the filter is an option of the installation.
var sourceFlags = map[string]uintptr{
	"SECCOMP_FILTER_FLAG_TSYNC":      0,
	"SECCOMP_FILTER_FLAG_LOG":        unix.SECCOMP_FILTER_FLAG_LOG,
	"SECCOMP_FILTER_FLAG_SPEC_ALLOW": unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW,
	waitKillable:                     unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
}

// Install sets no_new_privs and installs the filter in all threads of the process, with the flags of the source. Options
// change that. It cannot be undone, and it makes no syscalls after the filter is in place.
//
// An error is an [*InstallError]. Then no thread has the filter, but no_new_privs may be set in the calling thread. A program
// that is not as it was proved is an error: see [Program.InstallUnproved]. A program that notifies a listener (USER_NOTIF) is
// one, because without a listener the kernel fails these syscalls with ENOSYS: use [Program.InstallListener]. So is
// SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV without a listener, and a program for other architectures that does not permit
// exit_group of this one.
func (p *Program) Install(options ...InstallOption) error {
	if err := p.checkProved("InstallUnproved"); err != nil {
		return err
	}
	return p.installFilter("InstallListener", options)
}

// InstallUnproved installs a program of which nothing is proved, as [Program.Install] does: one that was written by hand, that
// was changed, that [Optimize] returned as it was given, or that another process sent as JSON.
func (p *Program) InstallUnproved(options ...InstallOption) error {
	return p.installFilter("InstallListenerUnproved", options)
}

// installFilter installs a filter without a listener; withListener is the method for filters that notify one.
func (p *Program) installFilter(withListener string, options []InstallOption) error {
	if p.Notifies() {
		return refused(ReasonNotifies, unix.ENOTSUP, "the filter notifies a listener (USER_NOTIF), and is installed without one",
			"use "+withListener+", or another action")
	}
	how, err := p.installation(options)
	if err != nil {
		return err
	}
	if how.flags&unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV != 0 {
		err := refused(ReasonFlags, unix.EINVAL, waitKillable+" needs a listener, and this filter is installed without one",
			"omit WithWaitKillable or remove the flag from the policy, or let a rule notify and use "+withListener)
		err.Flags = []string{waitKillable}
		return err
	}
	_, err = p.install(how)
	return err
}

// InstallListener installs a filter that notifies a listener, as [Program.Install] does, and returns the descriptor of the
// listener, which is closed on execve. It is for a supervisor: until somebody receives notifications from it, syscalls that notify
// wait. A program that never notifies is an error.
//
// The descriptor is an int because making an [os.File] of it needs syscalls, which the filter may deny. In all threads, which is
// the default, a listener needs Linux 5.7.
func (p *Program) InstallListener(options ...InstallOption) (int, error) {
	if err := p.checkProved("InstallListenerUnproved"); err != nil {
		return -1, err
	}
	return p.installListener("Install", options)
}

// InstallListenerUnproved is [Program.InstallListener] for a program of which nothing is proved, as in
// [Program.InstallUnproved].
func (p *Program) InstallListenerUnproved(options ...InstallOption) (int, error) {
	return p.installListener("InstallUnproved", options)
}

// installListener installs a filter with a listener; without is the method for filters that notify none.
func (p *Program) installListener(without string, options []InstallOption) (int, error) {
	if !p.Notifies() {
		return -1, refused(ReasonNeverNotifies, unix.EINVAL, "the filter never notifies a listener (USER_NOTIF)", "use "+without)
	}
	how, err := p.installation(options)
	if err != nil {
		return -1, err
	}
	how.flags |= unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	if how.flags&unix.SECCOMP_FILTER_FLAG_TSYNC != 0 {
		// The result is the listener, so the thread that cannot be synchronized is not said.
		how.flags |= unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	}
	return p.install(how)
}

// Notifies is whether the program may notify a listener (USER_NOTIF), so that it needs [Program.InstallListener]. A program that
// computes its verdict, as no compiled one does, counts as one that may.
func (p *Program) Notifies() bool {
	const returnConstant, returnAccumulator = 0x06, 0x16
	returnsAccumulator := slices.ContainsFunc(p.Instructions, func(one Instruction) bool { return one.Code == returnAccumulator })
	return slices.ContainsFunc(p.Instructions, func(one Instruction) bool {
		isNotify := one.K&unix.SECCOMP_RET_ACTION_FULL == unix.SECCOMP_RET_USER_NOTIF
		return one.Code == returnConstant && isNotify || returnsAccumulator && one.setsAccumulator(isNotify)
	})
}

// setsAccumulator is whether the accumulator may be USER_NOTIF after the instruction; isNotify is whether its constant is.
func (i Instruction) setsAccumulator(isNotify bool) bool {
	const classes, load, compute, loadConstant, copyIndex = 0x07, 0x00, 0x04, 0x00, 0x87
	switch {
	case i.Code == loadConstant:
		return isNotify
	default:
		return i.Code == copyIndex || i.Code&classes == load || i.Code&classes == compute
	}
}

// installation is how the program is installed with these options, after a check of what needs no kernel.
func (p *Program) installation(options []InstallOption) (installation, error) {
	how := installation{flags: unix.SECCOMP_FILTER_FLAG_TSYNC}
	for _, name := range p.Flags {
		flag, known := sourceFlags[name]
		if !known {
			message := fmt.Sprintf("the source wants the unknown flag %s", name)
			err := refused(ReasonFlags, unix.EINVAL, message, "use a newer version")
			err.Flags = []string{name}
			return how, err
		}
		how.flags |= flag
	}
	for _, option := range options {
		option(&how)
	}
	if len(p.Instructions) == 0 || len(p.Instructions) > unix.BPF_MAXINSNS {
		message := fmt.Sprintf("a program has 1 to %d instructions, and this one has %d", unix.BPF_MAXINSNS, len(p.Instructions))
		return how, refused(ReasonLength, unix.EINVAL, message, "compile a profile")
	}
	return how, p.checkMachine()
}

// checkProved refuses a program whose instructions are not those that were proved; instead is the method that takes it.
func (p *Program) checkProved(instead string) error {
	if p.proved != nil && slices.Equal(p.proved, p.Instructions) {
		return nil
	}
	message := "nothing is proved of these instructions"
	if p.proved != nil {
		message = "the instructions were changed after they were proved"
	}
	return refused(ReasonUnproved, unix.EINVAL, message, "compile the policy in this process, or use "+instead)
}

// checkMachine refuses a program that is for other architectures and would deny every syscall of this process, as the bindings for
// C and Python and the library for Rust do: its Arches lack that of this process, and it does not permit exit_group of it.
func (p *Program) checkMachine() error {
	own := archName()
	if own == "" || len(p.Arches) == 0 || slices.Contains(p.Arches, own) {
		return nil
	}
	end := Syscall{Name: strconv.Itoa(unix.SYS_EXIT_GROUP), Arch: own}
	if verdict, err := Simulate(Instructions(p.Instructions, WithArches(own)), end); err == nil && verdict.Permitted {
		return nil
	}
	message := fmt.Sprintf("the filter is for %s, but this process is for %s", strings.Join(p.Arches, ", "), own)
	return refused(ReasonArch, unix.EINVAL, message, fmt.Sprintf("compile it with WithArches(%q)", own))
}

// archName is the architecture of this process in Program.Arches; empty if its name is not known here.
func archName() string {
	return map[string]string{
		"386": "x86", "amd64": "x86_64", "arm": "arm", "arm64": "aarch64", "loong64": "loongarch64", "ppc64le": "ppc64le",
		"riscv64": "riscv64", "s390x": "s390x",
	}[runtime.GOARCH]
}

// install makes the syscalls. It returns the listener if the flags ask for one.
func (p *Program) install(how installation) (int, error) {
	filters := p.SockFilters()
	program := unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}
	// Both syscalls must come from one thread; TSYNC then gives no_new_privs and the filter to the others.
	runtime.LockOSThread()
	if !how.keepsNewPrivileges {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			runtime.UnlockOSThread()
			return -1, newPrivsError(err)
		}
	}
	result, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, how.flags,
		uintptr(unsafe.Pointer(&program)))
	// Before Linux 3.17, and where a filter hides seccomp(2).
	if errno == unix.ENOSYS && how.flags == 0 {
		result, _, errno = unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER,
			uintptr(unsafe.Pointer(&program)), 0, 0, 0)
	}
	runtime.KeepAlive(filters)
	hasListener := how.flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER != 0
	isRefused := errno != 0 || result != 0 && !hasListener
	if isRefused || how.flags&unix.SECCOMP_FILTER_FLAG_TSYNC != 0 {
		runtime.UnlockOSThread()
	}
	switch {
	case errno != 0:
		return -1, kernelError(errno, how, len(filters))
	case isRefused:
		return -1, threadError(int(result))
	}
	return int(result), nil
}

// unknownFlags are those of these flags that the kernel does not know.
func unknownFlags(flags uintptr) []string {
	names := map[uintptr]string{
		unix.SECCOMP_FILTER_FLAG_TSYNC:              "SECCOMP_FILTER_FLAG_TSYNC",
		unix.SECCOMP_FILTER_FLAG_LOG:                "SECCOMP_FILTER_FLAG_LOG",
		unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW:         "SECCOMP_FILTER_FLAG_SPEC_ALLOW",
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER:       "SECCOMP_FILTER_FLAG_NEW_LISTENER",
		unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH:        "SECCOMP_FILTER_FLAG_TSYNC_ESRCH",
		unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV: waitKillable,
	}
	var unknown []string
	for flag, name := range names {
		asked := flag
		if flag == unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV {
			asked |= unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
		}
		if flags&flag != 0 && !knowsFlags(asked) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// knowsFlags is whether the kernel knows these flags: without a program, they fail with EFAULT.
func knowsFlags(flags uintptr) bool {
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0)
	return errno == unix.EFAULT
}
