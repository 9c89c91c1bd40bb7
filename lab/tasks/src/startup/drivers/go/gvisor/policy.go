package main

// counted: policy
import "golang.org/x/sys/unix"
import "gvisor.dev/gvisor/pkg/seccomp"

func policy(output uint32, limit uint64) *seccomp.Program {
	return &seccomp.Program{
		RuleSets: []seccomp.RuleSet{{
			Rules: seccomp.MakeSyscallRules(map[uintptr]seccomp.SyscallRule{
				unix.SYS_READ:           seccomp.MatchAll{},
				unix.SYS_FUTEX:          seccomp.MatchAll{},
				unix.SYS_NANOSLEEP:      seccomp.MatchAll{},
				unix.SYS_RSEQ:           seccomp.MatchAll{},
				unix.SYS_CLONE:          seccomp.MatchAll{},
				unix.SYS_SIGALTSTACK:    seccomp.MatchAll{},
				unix.SYS_RT_SIGPROCMASK: seccomp.MatchAll{},
				unix.SYS_RT_SIGRETURN:   seccomp.MatchAll{},
				unix.SYS_EXIT_GROUP:     seccomp.MatchAll{},
				unix.SYS_WRITE:          seccomp.PerArg{seccomp.MaskedEqual(0xffffffff, uintptr(output))},
				unix.SYS_MMAP:           seccomp.PerArg{seccomp.AnyValue{}, seccomp.LessThanOrEqual(limit)},
			}),
			Action: seccomp.Allow,
		}},
		Options: seccomp.ProgramOptions{
			DefaultAction: seccomp.ReturnError.Code(uint16(unix.EPERM)),
			BadArchAction: seccomp.KillThread,
		},
	}
}

// counted: end
