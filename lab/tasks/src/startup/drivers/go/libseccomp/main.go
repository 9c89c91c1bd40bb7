// Builds and installs the filter with libseccomp-golang when the program starts.
package main

import "time"

// counted: policy
import seccomp "github.com/seccomp/libseccomp-golang"

func installFilter(output uint32, limit uint64) error {
	filter, err := seccomp.NewFilter(seccomp.ActErrno.SetReturnCode(1))
	if err != nil {
		return err
	}
	defer filter.Release()
	allowed := []string{
		"read", "futex", "nanosleep", "clone", "rseq", "sigaltstack", "rt_sigprocmask", "rt_sigreturn", "exit_group",
	}
	for _, name := range allowed {
		number, err := seccomp.GetSyscallFromName(name)
		if err != nil {
			return err
		}
		if err := filter.AddRule(number, seccomp.ActAllow); err != nil {
			return err
		}
	}
	conditions := []struct {
		name     string
		argument uint
		compare  seccomp.ScmpCompareOp
		values   []uint64
	}{
		{"write", 0, seccomp.CompareMaskedEqual, []uint64{0xffffffff, uint64(output)}},
		{"mmap", 1, seccomp.CompareLessOrEqual, []uint64{limit}},
	}
	for _, one := range conditions {
		number, err := seccomp.GetSyscallFromName(one.name)
		if err != nil {
			return err
		}
		condition, err := seccomp.MakeCondition(one.argument, one.compare, one.values...)
		if err != nil {
			return err
		}
		if err := filter.AddRuleConditional(number, seccomp.ActAllow, []seccomp.ScmpCondition{condition}); err != nil {
			return err
		}
	}
	return filter.Load()
}

// counted: end

func main() {
	run, limit := begin()
	start := time.Now()
	// counted: start
	check(installFilter(1, limit))
	// counted: end
	installed := time.Now()
	run.report(start, installed.Add(-excluded()), installed)
}
