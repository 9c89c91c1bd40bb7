package callgate

import (
	"errors"
	"testing"
)

func TestExpression(t *testing.T) {
	app := profile("ALLOW { read, write, mount, io_uring_setup } DEFAULT KILL")
	combined := Expression("app + ptrace - mount ^ preset:no-io-uring", map[string]Source{"app": app}, machine)
	for name, permitted := range map[string]bool{
		"read": true, "ptrace": true, "mount": false, "io_uring_setup": false, "kexec_load": false,
	} {
		simulated, err := Simulate(combined, Syscall{Name: name})
		if err != nil || simulated.Permitted != permitted {
			t.Errorf("%s: %+v, %v", name, simulated, err)
		}
	}
	program, err := CompileSource(combined)
	if err != nil {
		t.Fatal(err)
	}
	if differences, err := Diff(combined, program.Source(machine)); err != nil || len(differences) != 0 {
		t.Errorf("%v, %v", differences, err)
	}
	small, err := Subset(app, Expression("app + ptrace", map[string]Source{"app": app}, machine))
	if err != nil || len(small) != 0 {
		t.Errorf("%v, %v", small, err)
	}
}

// Messages name the sources as the expression does.
func TestExpressionErrors(t *testing.T) {
	good, bad := profile("ALLOW { read } DEFAULT KILL"), profile("ALLOW { raed } DEFAULT KILL")
	for name, one := range map[string]struct {
		expression Source
		source     string
		column     int
	}{
		"source":  {Expression("a + mount", map[string]Source{"a": bad}, machine), "a", 9},
		"unknown": {Expression("a + other", map[string]Source{"a": good}, machine), "expression", 5},
		"nested": {Expression("a + mount", map[string]Source{"a": Expression("b", map[string]Source{"b": good})}, machine),
			"", 0},
		"zero": {Expression("a", map[string]Source{"a": {}}, machine), "", 0},
	} {
		var failed *Error
		if _, err := CompileSource(one.expression); !errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if first := failed.First(); first.Source != one.source && one.column != 0 {
			t.Errorf("%s: %+v", name, first)
		}
	}
}

// The machine of an expression is that of its sources unless it has one itself.
func TestExpressionMachine(t *testing.T) {
	source := Profile([]byte("ALLOW { read } DEFAULT KILL"), WithMachine("riscv64"))
	program, err := CompileSource(Expression("a", map[string]Source{"a": source}))
	if err != nil || len(program.Arches) != 1 || program.Arches[0] != "riscv64" {
		t.Errorf("%+v, %v", program, err)
	}
}
