// Compiles rules with elastic's go-seccomp-bpf: main RULES PROGRAM - MILLISECONDS
//
// Reads the text form of lab/tasks/src/compare/text.rs, writes the program as the bytes of a sock_filter
// array. The library identifies syscalls by name and supports one action besides the default; unknown names
// are omitted and printed as "unknown ARCH NR". The time is that of Policy.Assemble.
package main

import (
	"fmt"
	"os"
	"time"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
)

var operations = map[string]seccomp.Operation{
	"eq": seccomp.Equal,
	"ne": seccomp.NotEqual,
	"lt": seccomp.LessThan,
	"le": seccomp.LessOrEqual,
	"gt": seccomp.GreaterThan,
	"ge": seccomp.GreaterOrEqual,
}

// conditions of a test: masked bits are tested one by one if they must be set, and together if they
// must be clear.
func conditions(t test) seccomp.ArgumentConditions {
	arg := uint32(t.arg)
	if t.arg == instructionPointer {
		stop(cannotExpress, "it has no tests of the instruction pointer")
	}
	if t.bits == 64 && !t.masked() {
		return seccomp.ArgumentConditions{{Argument: arg, Operation: operations[t.cmp], Value: t.value}}
	}
	if t.cmp != "eq" || t.value&^t.mask != 0 {
		stop(cannotExpress, "under a mask it only tests whether bits are set or clear")
	}
	var all seccomp.ArgumentConditions
	if clear := t.mask &^ t.value; clear != 0 {
		all = append(all, seccomp.Condition{Argument: arg, Operation: seccomp.BitsNotSet, Value: clear})
	}
	for set := t.value; set != 0; set &= set - 1 {
		bit := set & -set
		all = append(all, seccomp.Condition{Argument: arg, Operation: seccomp.BitsSet, Value: bit})
	}
	return all
}

// action converts a verdict: the library adds EPERM to its action for errors without data.
func action(verdict uint32) seccomp.Action {
	if seccomp.Action(verdict) == seccomp.ActionErrno|1 {
		return seccomp.ActionErrno
	}
	return seccomp.Action(verdict)
}

func group(r rules) seccomp.SyscallGroup {
	known, err := arch.GetInfo("x86_64")
	if err != nil {
		stop(1, "%v", err)
	}
	var group seccomp.SyscallGroup
	first := true
	for _, c := range r.calls {
		if _, found := known.SyscallNames[c.name]; !found {
			if c.name == "-" {
				stop(cannotExpress, "it identifies syscalls by name only, and %d has none", c.nr)
			}
			fmt.Printf("unknown x86_64 %d\n", c.nr)
			continue
		}
		for _, a := range c.alternatives {
			if !first && action(a.verdict) != group.Action {
				stop(cannotExpress, "it supports one action besides the default")
			}
			group.Action, first = action(a.verdict), false
			if len(a.tests) == 0 {
				group.Names = append(group.Names, c.name)
				continue
			}
			with := seccomp.NameWithConditions{Name: c.name}
			for _, t := range a.tests {
				with.Conditions = append(with.Conditions, conditions(t)...)
			}
			group.NamesWithCondtions = append(group.NamesWithCondtions, with)
		}
	}
	return group
}

func main() {
	if len(os.Args) != 5 {
		stop(1, "usage: main RULES PROGRAM - MILLISECONDS")
	}
	r := readRules(os.Args[1])
	calls := group(r)
	var built []bpf.Instruction
	measure(os.Args[4], func() time.Duration {
		policy := seccomp.Policy{
			DefaultAction: action(r.defaultVerdict),
			Syscalls:      []seccomp.SyscallGroup{calls},
		}
		start := time.Now()
		insns, err := policy.Assemble()
		took := time.Since(start)
		if err != nil {
			stop(cannotExpress, "%v", err)
		}
		built = insns
		return took
	})
	assembled, err := bpf.Assemble(built)
	if err != nil {
		stop(1, "%v", err)
	}
	var program []instruction
	for _, insn := range assembled {
		program = append(program, instruction{code: insn.Op, jt: insn.Jt, jf: insn.Jf, k: insn.K})
	}
	write(os.Args[2], program)
}
