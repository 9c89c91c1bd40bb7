package rules

var allowed = seccomp.MakeSyscallRules(map[uintptr]seccomp.SyscallRule{
	unix.SYS_CLOSE: seccomp.MatchAll{},
	unix.SYS_DUP3: seccomp.PerArg{
		seccomp.NonNegativeFD{},
		seccomp.AnyValue{},
		seccomp.EqualTo(unix.O_CLOEXEC),
	},
	unix.SYS_FUTEX: seccomp.Or{
		seccomp.PerArg{seccomp.AnyValue{}, seccomp.BitsAllowlist(linux.FUTEX_WAKE | linux.FUTEX_PRIVATE_FLAG)},
		seccomp.And{seccomp.PerArg{nil, seccomp.MaskedEqual(0x7f, 9)}, seccomp.MatchAll{}},
	},
}).Add(unix.SYS_GETPID, seccomp.MatchAll{})
