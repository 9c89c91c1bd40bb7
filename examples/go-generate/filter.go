package main

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// 30 instructions.
var sandboxAmd64Template = [30]unix.SockFilter{
	{Code: 0x20, Jt: 0, Jf: 0, K: 0x4},         // 0: arch
	{Code: 0x15, Jt: 0, Jf: 27, K: 0xc000003e}, // 1: x86_64, false: KILL_THREAD
	{Code: 0x20, Jt: 0, Jf: 0, K: 0x0},         // 2: nr
	{Code: 0x35, Jt: 12, Jf: 0, K: 0x38},       // 3: clone
	{Code: 0x35, Jt: 7, Jf: 0, K: 0x10},        // 4: ioctl
	{Code: 0x35, Jt: 21, Jf: 0, K: 0xd},        // 5: rt_sigaction, true: ALLOW
	{Code: 0x35, Jt: 0, Jf: 1, K: 0x9},         // 6: mmap
	{Code: 0x45, Jt: 19, Jf: 20, K: 0x1},       // 7: true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x35, Jt: 0, Jf: 18, K: 0x1},        // 8: write, false: ALLOW
	{Code: 0x35, Jt: 18, Jf: 0, K: 0x2},        // 9: open, true: ERRNO(EPERM)
	{Code: 0x20, Jt: 0, Jf: 0, K: 0x10},        // 10: args[0].low
	{Code: 0x15, Jt: 15, Jf: 16, K: 0x0},       // 11: $controller_fd, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x15, Jt: 14, Jf: 0, K: 0x18},       // 12: sched_yield, true: ALLOW
	{Code: 0x15, Jt: 13, Jf: 0, K: 0x1c},       // 13: madvise, true: ALLOW
	{Code: 0x15, Jt: 12, Jf: 0, K: 0x23},       // 14: nanosleep, true: ALLOW
	{Code: 0x15, Jt: 11, Jf: 12, K: 0x27},      // 15: getpid, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x35, Jt: 6, Jf: 0, K: 0xe9},        // 16: epoll_ctl
	{Code: 0x35, Jt: 2, Jf: 0, K: 0xba},        // 17: gettid
	{Code: 0x15, Jt: 8, Jf: 0, K: 0x83},        // 18: sigaltstack, true: ALLOW
	{Code: 0x45, Jt: 8, Jf: 7, K: 0xc3},        // 19: true: ERRNO(EPERM), false: ALLOW
	{Code: 0x15, Jt: 6, Jf: 0, K: 0xba},        // 20: gettid, true: ALLOW
	{Code: 0x15, Jt: 5, Jf: 0, K: 0xca},        // 21: futex, true: ALLOW
	{Code: 0x15, Jt: 4, Jf: 5, K: 0xe7},        // 22: exit_group, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x35, Jt: 2, Jf: 0, K: 0x122},       // 23: eventfd2
	{Code: 0x35, Jt: 0, Jf: 2, K: 0xeb},        // 24: utimes, false: ALLOW
	{Code: 0x15, Jt: 1, Jf: 2, K: 0x119},       // 25: epoll_pwait, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x35, Jt: 1, Jf: 0, K: 0x124},       // 26: dup3, true: ERRNO(EPERM), false: ALLOW
	{Code: 0x06, Jt: 0, Jf: 0, K: 0x7fff0000},  // 27: ALLOW
	{Code: 0x06, Jt: 0, Jf: 0, K: 0x50001},     // 28: ERRNO(EPERM)
	{Code: 0x06, Jt: 0, Jf: 0, K: 0x0},         // 29: KILL_THREAD
}

// sandboxAmd64For returns the program for these values of its variables.
func sandboxAmd64For(controller_fd uint32) []unix.SockFilter {
	insns := sandboxAmd64Template
	insns[11].K = controller_fd
	return insns[:]
}

// 27 instructions.
var sandboxArm64Template = [27]unix.SockFilter{
	{Code: 0x20, Jt: 0, Jf: 0, K: 0x4},          // 0: arch
	{Code: 0x15, Jt: 0, Jf: 22, K: 0xc00000b7},  // 1: aarch64, false: KILL_THREAD
	{Code: 0x20, Jt: 0, Jf: 0, K: 0x0},          // 2: nr
	{Code: 0x35, Jt: 0, Jf: 9, K: 0x83},         // 3: tgkill
	{Code: 0x35, Jt: 0, Jf: 7, K: 0x88},         // 4: rt_sigpending
	{Code: 0x35, Jt: 4, Jf: 0, K: 0xdc},         // 5: clone
	{Code: 0x15, Jt: 19, Jf: 0, K: 0x8b},        // 6: rt_sigreturn, true: ALLOW
	{Code: 0x15, Jt: 18, Jf: 0, K: 0xac},        // 7: getpid, true: ALLOW
	{Code: 0x15, Jt: 17, Jf: 0, K: 0xb2},        // 8: gettid, true: ALLOW
	{Code: 0x15, Jt: 16, Jf: 15, K: 0xd7},       // 9: munmap, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x15, Jt: 15, Jf: 0, K: 0xe9},        // 10: madvise, true: ALLOW
	{Code: 0x45, Jt: 13, Jf: 14, K: 0xffffff21}, // 11: true: ERRNO(EPERM), false: ALLOW
	{Code: 0x15, Jt: 12, Jf: 13, K: 0x85},       // 12: rt_sigsuspend, true: ERRNO(EPERM), false: ALLOW
	{Code: 0x35, Jt: 0, Jf: 9, K: 0x17},         // 13: dup
	{Code: 0x35, Jt: 5, Jf: 0, K: 0x5f},         // 14: waitid
	{Code: 0x35, Jt: 10, Jf: 0, K: 0x5d},        // 15: exit, true: ALLOW
	{Code: 0x15, Jt: 9, Jf: 0, K: 0x3f},         // 16: read, true: ALLOW
	{Code: 0x15, Jt: 0, Jf: 7, K: 0x40},         // 17: write, false: ERRNO(EPERM)
	{Code: 0x20, Jt: 0, Jf: 0, K: 0x10},         // 18: args[0].low: write(fd)
	{Code: 0x15, Jt: 6, Jf: 5, K: 0x0},          // 19: $controller_fd, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x15, Jt: 5, Jf: 0, K: 0x62},         // 20: futex, true: ALLOW
	{Code: 0x15, Jt: 4, Jf: 0, K: 0x65},         // 21: nanosleep, true: ALLOW
	{Code: 0x15, Jt: 3, Jf: 2, K: 0x7c},         // 22: sched_yield, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x35, Jt: 2, Jf: 1, K: 0x13},         // 23: eventfd2, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x06, Jt: 0, Jf: 0, K: 0x0},          // 24: KILL_THREAD
	{Code: 0x06, Jt: 0, Jf: 0, K: 0x50001},      // 25: ERRNO(EPERM)
	{Code: 0x06, Jt: 0, Jf: 0, K: 0x7fff0000},   // 26: ALLOW
}

// sandboxArm64For returns the program for these values of its variables.
func sandboxArm64For(controller_fd uint32) []unix.SockFilter {
	insns := sandboxArm64Template
	insns[19].K = controller_fd
	return insns[:]
}

// A duplicate key if there is no program for this architecture.
var _ = map[bool]struct{}{false: {}, runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64": {}}

// sandboxFor returns the program for this architecture and these values of its variables.
func sandboxFor(controller_fd uint32) []unix.SockFilter {
	switch runtime.GOARCH {
	case "amd64":
		return sandboxAmd64For(controller_fd)
	case "arm64":
		return sandboxArm64For(controller_fd)
	default:
		return nil
	}
}

// installSandboxWith installs the filter with flags of seccomp(2). It sets no_new_privs first unless this is false:
// then the thread must have it, or CAP_SYS_ADMIN (EACCES).
// EINVAL: SECCOMP_FILTER_FLAG_NEW_LISTENER, whose result would be lost.
func installSandboxWith(flags uintptr, noNewPrivs bool, controller_fd uint32) error {
	if flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER != 0 {
		return unix.EINVAL
	}
	insns := sandboxFor(controller_fd)
	runtime.LockOSThread()
	if flags&unix.SECCOMP_FILTER_FLAG_TSYNC != 0 {
		defer runtime.UnlockOSThread()
	}
	if noNewPrivs {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	program := unix.SockFprog{Len: uint16(len(insns)), Filter: &insns[0]}
	result, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&program)))
	// Before Linux 3.17, and where a filter hides seccomp(2).
	if errno == unix.ENOSYS && flags == 0 {
		result, _, errno = unix.Syscall6(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER,
			uintptr(unsafe.Pointer(&program)), 0, 0, 0)
	}
	if errno != 0 {
		return errno
	}
	if result != 0 {
		return fmt.Errorf("thread %d has filters of its own: %w", result, unix.ESRCH)
	}
	return nil
}

// installSandbox installs the filter in all threads of the process.
// ESRCH: a thread has filters of its own.
func installSandbox(controller_fd uint32) error {
	return installSandboxWith(unix.SECCOMP_FILTER_FLAG_TSYNC, true, controller_fd)
}

// installSandboxInThread installs the filter in the thread of the calling goroutine. The goroutine
// stays locked to the thread: others do not run there, and the thread ends with the goroutine.
func installSandboxInThread(controller_fd uint32) error {
	return installSandboxWith(0, true, controller_fd)
}
