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
	{Code: 0x15, Jt: 21, Jf: 0, K: 0x1},        // 3: write
	{Code: 0x35, Jt: 12, Jf: 0, K: 0x84},       // 4: utime
	{Code: 0x35, Jt: 0, Jf: 6, K: 0x19},        // 5: mremap
	{Code: 0x35, Jt: 0, Jf: 2, K: 0x38},        // 6: clone
	{Code: 0x35, Jt: 19, Jf: 0, K: 0x83},       // 7: sigaltstack, true: ALLOW
	{Code: 0x45, Jt: 19, Jf: 18, K: 0xc3},      // 8: true: ERRNO(EPERM), false: ALLOW
	{Code: 0x15, Jt: 17, Jf: 0, K: 0x1c},       // 9: madvise, true: ALLOW
	{Code: 0x15, Jt: 16, Jf: 0, K: 0x23},       // 10: nanosleep, true: ALLOW
	{Code: 0x15, Jt: 15, Jf: 16, K: 0x27},      // 11: getpid, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x35, Jt: 0, Jf: 1, K: 0xd},         // 12: rt_sigaction
	{Code: 0x45, Jt: 13, Jf: 14, K: 0x8},       // 13: true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x35, Jt: 0, Jf: 1, K: 0x9},         // 14: mmap
	{Code: 0x45, Jt: 11, Jf: 12, K: 0x1},       // 15: true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x35, Jt: 11, Jf: 10, K: 0x2},       // 16: open, true: ERRNO(EPERM), false: ALLOW
	{Code: 0x35, Jt: 4, Jf: 0, K: 0xeb},        // 17: utimes
	{Code: 0x35, Jt: 2, Jf: 0, K: 0xe7},        // 18: exit_group
	{Code: 0x15, Jt: 7, Jf: 0, K: 0xba},        // 19: gettid, true: ALLOW
	{Code: 0x15, Jt: 6, Jf: 7, K: 0xca},        // 20: futex, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x15, Jt: 6, Jf: 5, K: 0xe8},        // 21: epoll_wait, true: ERRNO(EPERM), false: ALLOW
	{Code: 0x35, Jt: 0, Jf: 1, K: 0x122},       // 22: eventfd2
	{Code: 0x35, Jt: 4, Jf: 3, K: 0x124},       // 23: dup3, true: ERRNO(EPERM), false: ALLOW
	{Code: 0x15, Jt: 2, Jf: 3, K: 0x119},       // 24: epoll_pwait, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x20, Jt: 0, Jf: 0, K: 0x10},        // 25: args[0].low: write(fd)
	{Code: 0x15, Jt: 0, Jf: 1, K: 0x0},         // 26: $controller_fd, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x06, Jt: 0, Jf: 0, K: 0x7fff0000},  // 27: ALLOW
	{Code: 0x06, Jt: 0, Jf: 0, K: 0x50001},     // 28: ERRNO(EPERM)
	{Code: 0x06, Jt: 0, Jf: 0, K: 0x0},         // 29: KILL_THREAD
}

// sandboxAmd64For returns the program for these values of its variables.
func sandboxAmd64For(controller_fd uint32) []unix.SockFilter {
	insns := sandboxAmd64Template
	insns[26].K = controller_fd
	return insns[:]
}

// 28 instructions.
var sandboxArm64Template = [28]unix.SockFilter{
	{Code: 0x20, Jt: 0, Jf: 0, K: 0x4},         // 0: arch
	{Code: 0x15, Jt: 0, Jf: 25, K: 0xc00000b7}, // 1: aarch64, false: KILL_THREAD
	{Code: 0x20, Jt: 0, Jf: 0, K: 0x0},         // 2: nr
	{Code: 0x15, Jt: 19, Jf: 0, K: 0x40},       // 3: write
	{Code: 0x35, Jt: 10, Jf: 0, K: 0x88},       // 4: rt_sigpending
	{Code: 0x35, Jt: 4, Jf: 0, K: 0x5f},        // 5: waitid
	{Code: 0x35, Jt: 1, Jf: 0, K: 0x17},        // 6: dup
	{Code: 0x35, Jt: 17, Jf: 18, K: 0x13},      // 7: eventfd2, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x35, Jt: 16, Jf: 0, K: 0x5d},       // 8: exit, true: ALLOW
	{Code: 0x15, Jt: 15, Jf: 16, K: 0x3f},      // 9: read, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x35, Jt: 0, Jf: 1, K: 0x83},        // 10: tgkill
	{Code: 0x15, Jt: 14, Jf: 13, K: 0x85},      // 11: rt_sigsuspend, true: ERRNO(EPERM), false: ALLOW
	{Code: 0x15, Jt: 12, Jf: 0, K: 0x62},       // 12: futex, true: ALLOW
	{Code: 0x15, Jt: 11, Jf: 0, K: 0x65},       // 13: nanosleep, true: ALLOW
	{Code: 0x15, Jt: 10, Jf: 11, K: 0x7c},      // 14: sched_yield, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x35, Jt: 5, Jf: 0, K: 0xdc},        // 15: clone
	{Code: 0x35, Jt: 0, Jf: 2, K: 0xad},        // 16: getppid
	{Code: 0x15, Jt: 7, Jf: 0, K: 0xb2},        // 17: gettid, true: ALLOW
	{Code: 0x15, Jt: 6, Jf: 7, K: 0xd7},        // 18: munmap, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x35, Jt: 5, Jf: 0, K: 0xac},        // 19: getpid, true: ALLOW
	{Code: 0x15, Jt: 4, Jf: 5, K: 0x8b},        // 20: rt_sigreturn, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x15, Jt: 3, Jf: 0, K: 0xe9},        // 21: madvise, true: ALLOW
	{Code: 0x45, Jt: 3, Jf: 2, K: 0xffffff21},  // 22: true: ERRNO(EPERM), false: ALLOW
	{Code: 0x20, Jt: 0, Jf: 0, K: 0x10},        // 23: args[0].low: write(fd)
	{Code: 0x15, Jt: 0, Jf: 1, K: 0x0},         // 24: $controller_fd, true: ALLOW, false: ERRNO(EPERM)
	{Code: 0x06, Jt: 0, Jf: 0, K: 0x7fff0000},  // 25: ALLOW
	{Code: 0x06, Jt: 0, Jf: 0, K: 0x50001},     // 26: ERRNO(EPERM)
	{Code: 0x06, Jt: 0, Jf: 0, K: 0x0},         // 27: KILL_THREAD
}

// sandboxArm64For returns the program for these values of its variables.
func sandboxArm64For(controller_fd uint32) []unix.SockFilter {
	insns := sandboxArm64Template
	insns[24].K = controller_fd
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
