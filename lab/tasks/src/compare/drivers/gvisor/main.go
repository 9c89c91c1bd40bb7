// Compiles rules with gVisor's pkg/seccomp: main RULES PROGRAM optimized|plain MILLISECONDS
//
// Reads the text form of lab/tasks/src/compare/text.rs, writes the program as the bytes of a sock_filter
// array. The time is that of seccomp.Program.Build, without the construction of the rules.
package main

import (
	"os"
	"time"

	"gvisor.dev/gvisor/pkg/bpf"
	"gvisor.dev/gvisor/pkg/seccomp"
)

func action(verdict uint32) seccomp.Action {
	data := uint16(verdict)
	switch verdict >> 16 {
	case 0x8000:
		return seccomp.KillProcess
	case 0x0000:
		return seccomp.KillThread
	case 0x0003:
		return seccomp.Trap.Code(data)
	case 0x0005:
		return seccomp.ReturnError.Code(data)
	case 0x7fc0:
		return seccomp.UserNotify.Code(data)
	case 0x7ff0:
		return seccomp.Trace.Code(data)
	case 0x7fff:
		return seccomp.Allow
	}
	stop(cannotExpress, "it has no action for %#08x", verdict)
	return ""
}

func matcher(t test) seccomp.ValueMatcher {
	value := uintptr(t.value)
	if t.bits == 32 || t.masked() {
		if t.cmp != "eq" {
			stop(cannotExpress, "under a mask it only tests for equality")
		}
		return seccomp.MaskedEqual(uintptr(t.mask), value)
	}
	switch t.cmp {
	case "eq":
		return seccomp.EqualTo(value)
	case "ne":
		return seccomp.NotEqual(value)
	case "lt":
		return seccomp.LessThan(value)
	case "le":
		return seccomp.LessThanOrEqual(value)
	case "gt":
		return seccomp.GreaterThan(value)
	}
	return seccomp.GreaterThanOrEqual(value)
}

// rule is the conjunction of tests; two tests of one argument need separate rules.
func rule(tests []test) seccomp.SyscallRule {
	var parts seccomp.And
	for len(tests) > 0 {
		var part seccomp.PerArg
		var rest []test
		for _, t := range tests {
			if part[t.arg] == nil {
				part[t.arg] = matcher(t)
			} else {
				rest = append(rest, t)
			}
		}
		for arg := range part {
			if part[arg] == nil {
				part[arg] = seccomp.AnyValue{}
			}
		}
		parts = append(parts, part)
		tests = rest
	}
	switch len(parts) {
	case 0:
		return seccomp.MatchAll{}
	case 1:
		return parts[0]
	}
	return parts
}

// ruleSets returns a set for each change of verdict within a syscall; the first that matches decides.
func ruleSets(r rules) []seccomp.RuleSet {
	type group struct {
		verdict uint32
		rule    seccomp.Or
	}
	var sets []seccomp.RuleSet
	add := func(from int, nr uint32, g group) {
		want := action(g.verdict)
		for ; from < len(sets) && sets[from].Action != want; from++ {
		}
		if from == len(sets) {
			sets = append(sets, seccomp.RuleSet{Rules: seccomp.NewSyscallRules(), Action: want})
		}
		var rule seccomp.SyscallRule = g.rule
		if len(g.rule) == 1 {
			rule = g.rule[0]
		}
		sets[from].Rules.Set(uintptr(nr), rule)
	}
	for _, c := range r.calls {
		var groups []group
		for _, a := range c.alternatives {
			if last := len(groups) - 1; last >= 0 && groups[last].verdict == a.verdict {
				groups[last].rule = append(groups[last].rule, rule(a.tests))
			} else {
				groups = append(groups, group{a.verdict, seccomp.Or{rule(a.tests)}})
			}
		}
		if len(groups) > 2 {
			stop(cannotExpress, "call %d changes its action more than once", c.nr)
		}
		for i, g := range groups {
			from := 0
			if i > 0 {
				// After the set of the first group.
				for sets[from].Action != action(groups[0].verdict) {
					from++
				}
				from++
			}
			add(from, c.nr, g)
		}
	}
	return sets
}

func main() {
	if len(os.Args) != 5 {
		stop(1, "usage: main RULES PROGRAM optimized|plain MILLISECONDS")
	}
	r := readRules(os.Args[1])
	var hot []uintptr
	for _, call := range r.hot {
		// As the documentation of HotSyscalls recommends.
		if call.share >= 100 {
			hot = append(hot, uintptr(call.nr))
		}
	}
	var built []bpf.Instruction
	measure(os.Args[4], func() time.Duration {
		program := seccomp.Program{
			RuleSets: ruleSets(r),
			Options: seccomp.ProgramOptions{
				DefaultAction:     action(r.defaultVerdict),
				BadArchAction:     action(r.badArch),
				SkipOptimizations: os.Args[3] == "plain",
				HotSyscalls:       hot,
			},
		}
		start := time.Now()
		insns, _, err := program.Build()
		took := time.Since(start)
		if err != nil {
			stop(1, "%v", err)
		}
		built = insns
		return took
	})
	var program []instruction
	for _, insn := range built {
		program = append(program, instruction{
			code: insn.OpCode, jt: insn.JumpIfTrue, jf: insn.JumpIfFalse, k: insn.K,
		})
	}
	write(os.Args[2], program)
}
