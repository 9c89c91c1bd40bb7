package callgate

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/tetratelabs/wazero"
)

const small = `{
  "defaultAction": "SCMP_ACT_ERRNO",
  "syscalls": [
    {"names": ["read", "write"], "action": "SCMP_ACT_ALLOW"},
    {"names": ["personality"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 8, "op": "SCMP_CMP_EQ"}]}
  ]
}`

// machine makes tests independent of the machine.
var machine = WithMachine("amd64")

func profile(text string, options ...Option) Source {
	return Profile([]byte(text), append([]Option{machine, WithKernel("6.12")}, options...)...)
}

func TestCompile(t *testing.T) {
	program, err := Compile([]byte(small), machine, WithKernel("6.12"))
	if err != nil {
		t.Fatal(err)
	}
	if len(program.Instructions) == 0 || program.Arches[0] != "x86_64" || program.ConstantAllow != 2 {
		t.Errorf("%+v", program)
	}
	if differences, err := Diff(profile(small), program.Source(machine)); err != nil || len(differences) != 0 {
		t.Errorf("%v, %v", differences, err)
	}
}

func TestErrorsHaveAPosition(t *testing.T) {
	_, err := CompileSource(profile(strings.Replace(small, "ERRNO", "ERNO", 1), WithName("a.json")))
	var failed *Error
	if !errors.As(err, &failed) {
		t.Fatalf("%v", err)
	}
	first := failed.First()
	if first.Source != "a.json" || first.Line != 2 || first.Column != 20 || first.Help == "" {
		t.Errorf("%+v", first)
	}
	if !strings.HasPrefix(err.Error(), "callgate: a.json:2:20: error: ") {
		t.Errorf("%v", err)
	}
}

func TestWarnings(t *testing.T) {
	text := strings.Replace(small, `"write"`, `"wriet"`, 1)
	program, err := CompileSource(profile(text))
	if err != nil || len(program.Warnings) != 1 || program.Warnings[0].Severity != SeverityWarning {
		t.Fatalf("%+v, %v", program, err)
	}
	if _, err := CompileSource(profile(text, Strict())); err == nil {
		t.Error("an unknown name is an error")
	}
}

func TestSpec(t *testing.T) {
	errno := uint(1)
	spec := &specs.LinuxSeccomp{
		DefaultAction:   specs.ActErrno,
		DefaultErrnoRet: &errno,
		Architectures:   []specs.Arch{specs.ArchX86_64},
		Flags:           []specs.LinuxSeccompFlag{specs.LinuxSeccompFlagLog},
		Syscalls: []specs.LinuxSyscall{
			{Names: []string{"read", "write"}, Action: specs.ActAllow},
			{Names: []string{"personality"}, Action: specs.ActAllow,
				Args: []specs.LinuxSeccompArg{{Index: 0, Value: 8, Op: specs.OpEqualTo}}},
		},
	}
	options := []Option{machine, WithKernel("6.12"), WithENOSYSAbove("off")}
	program, err := CompileSource(Spec(spec, options...))
	if err != nil {
		t.Fatal(err)
	}
	if len(program.Flags) != 1 || program.Flags[0] != "SECCOMP_FILTER_FLAG_LOG" {
		t.Errorf("%v", program.Flags)
	}
	same := profile(small, WithFormat("runc"), WithArches("amd64"), WithENOSYSAbove("off"))
	if differences, err := Diff(Spec(spec, options...), same); err != nil || len(differences) != 0 {
		t.Errorf("%+v, %v", differences, err)
	}
	if _, err := CompileSource(Spec(nil)); err == nil {
		t.Error("nil is not a filter")
	}
}

func TestSubset(t *testing.T) {
	looser := profile(strings.Replace(small, `"read"`, `"read", "ptrace"`, 1))
	if witnesses, err := Subset(profile(small), looser); err != nil || len(witnesses) != 0 {
		t.Errorf("%v, %v", witnesses, err)
	}
	witnesses, err := Subset(looser, profile(small))
	if err != nil || len(witnesses) == 0 || witnesses[0].Call != "ptrace" || witnesses[0].A.Verdict != "ALLOW" {
		t.Errorf("%v, %v", witnesses, err)
	}
}

func TestExplain(t *testing.T) {
	explanation, err := Explain(profile(small), "personality")
	if err != nil {
		t.Fatal(err)
	}
	group := explanation.Arches[0].Groups[0]
	if group.Calls[0].Name != "personality" || group.Outcome.Kind != "depends" ||
		group.Outcome.Clauses[0].If[0].Ranges[0] != [2]uint64{8, 8} {
		t.Errorf("%+v", group)
	}
}

func TestLint(t *testing.T) {
	text := strings.Replace(small, `"read"`, `"read", "ptrace"`, 1)
	found, err := Lint(profile(text), LintOptions{Allow: []string{"needed-call"}})
	if err != nil {
		t.Fatal(err)
	}
	var powerful []Finding
	for _, finding := range found.Findings {
		if finding.ID == "powerful-call" {
			powerful = append(powerful, finding)
		}
	}
	if len(powerful) != 1 || powerful[0].Line == 0 || powerful[0].Syscalls[0] != "ptrace" ||
		powerful[0].Examples[0].Verdict.Verdict != "ALLOW" || powerful[0].Examples[0].Number != 101 {
		t.Errorf("%+v", found)
	}
	if found.Silenced == 0 {
		t.Errorf("nothing is silenced: %+v", found)
	}
	strict, err := Lint(profile(text), LintOptions{Level: "error"})
	if err != nil || len(strict.Findings) != 0 || strict.BelowLevel < 2 {
		t.Errorf("%+v, %v", strict, err)
	}
	if _, err := Lint(profile(text), LintOptions{Allow: []string{"powerful"}}); err == nil {
		t.Error("an unknown check is allowed")
	}
}

func TestSimulate(t *testing.T) {
	simulated, err := Simulate(profile(small), Syscall{Name: "personality", Args: []string{"8"}})
	if err != nil || simulated.Verdict.Verdict != "ALLOW" || simulated.ConstantAllow {
		t.Errorf("%+v, %v", simulated, err)
	}
	simulated, err = Simulate(profile(small), Syscall{Name: "read"})
	if err != nil || !simulated.Permitted || !simulated.ConstantAllow || simulated.Executed == 0 {
		t.Errorf("%+v, %v", simulated, err)
	}
}

func TestOptimizeAndMerge(t *testing.T) {
	long := []Instruction{{0x20, 0, 0, 0}, {0x15, 2, 0, 39}, {0x20, 0, 0, 0}, {0x15, 0, 1, 40},
		{0x06, 0, 0, 0x7fff0000}, {0x06, 0, 0, 0}}
	program, err := Optimize(long, machine)
	if err != nil || !program.Optimized || len(program.Instructions) >= len(long) {
		t.Errorf("%+v, %v", program, err)
	}
	merged, err := Merge([]Source{profile(small), Instructions(long, machine)}, machine)
	if err != nil {
		t.Fatal(err)
	}
	simulated, err := Simulate(merged.Source(machine), Syscall{Name: "read"})
	if err != nil || simulated.Permitted {
		t.Errorf("%+v, %v", simulated, err)
	}
	if _, err := Merge(nil, machine); err == nil {
		t.Error("a stack without filters")
	}
}

// Each bad input is an error of this package.
func TestBadInputs(t *testing.T) {
	var none Source
	broken := []byte("{\n  \"a\": \"\xff\"}")
	bad := map[string]Source{
		"empty":       profile(""),
		"zero source": none,
		"not UTF-8":   Profile(broken, WithName("b"), machine),
		"nesting":     profile(strings.Repeat("[", 1<<20)),
		"large":       profile(strings.Repeat(" ", 33<<20)),
		"keys":        profile("{" + strings.Repeat(`"a":1,`, 1<<20) + `"b":1}`),
		"no program":  Instructions(nil, machine),
		"jump":        Instructions([]Instruction{{0x15, 9, 9, 0}}, machine),
		"machine":     profile(small, WithMachine("pdp11")),
		"kernel":      profile(small, WithKernel("six")),
		"file":        profile(small, WithFiles(map[string]string{"a": "\xff"})),
	}
	for name, source := range bad {
		var failed *Error
		if _, err := CompileSource(source); !errors.As(err, &failed) || len(failed.Diagnostics) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	var failed *Error
	if _, err := CompileSource(bad["not UTF-8"]); !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if first := failed.First(); first.Line != 2 || first.Column != 9 || first.Source != "b" {
		t.Errorf("%+v", first)
	}
}

// A program whose meaning exceeds the budget of a diagram is an error, and engines work afterwards.
func TestTooComplex(t *testing.T) {
	text := "ld [16]\ntax\nld [24]\nmul x\njeq #12345, 0, 1\nret ALLOW\nret KILL\n"
	if _, err := Explain(profile(text)); err == nil {
		t.Error("this program is too complex")
	}
	if _, err := CompileSource(profile(small)); err != nil {
		t.Error(err)
	}
}

// An engine that fails is an error, and is not used again.
func TestEngineFailure(t *testing.T) {
	made, err := theModule.factory()
	if err != nil {
		t.Fatal(err)
	}
	one, err := made.engine()
	if err != nil {
		t.Fatal(err)
	}
	if err := one.instance.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, isReusable, err := one.ask([]byte("{}")); isReusable || !strings.Contains(err.Error(), "the engine failed") {
		t.Errorf("%v", err)
	}
	// An allocation that the module refuses: it traps.
	if one, err = made.engine(); err != nil {
		t.Fatal(err)
	}
	if _, err := one.alloc.Call(t.Context(), 1<<31); err == nil {
		t.Error("2 GiB are allocated")
	}
}

// The engine works where no machine code can be made.
func TestInterpreter(t *testing.T) {
	made, err := newFactory(wazero.NewRuntimeConfigInterpreter())
	if err != nil {
		t.Fatal(err)
	}
	one, err := made.engine()
	if err != nil {
		t.Fatal(err)
	}
	request := []byte(`{"request": "compile", "machine": "x86_64", "source": {"text": "ALLOW { read } DEFAULT KILL"}}`)
	interpreted, _, err := one.ask(request)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := ask(request)
	if err != nil || !bytes.Equal(interpreted, compiled) {
		t.Errorf("%v\n%s\n%s", err, interpreted, compiled)
	}
}

// A failure is not for ever: the next request may find the memory that was missing.
func TestPreparationAfterAFailure(t *testing.T) {
	interpreter := wazero.NewRuntimeConfigInterpreter()
	attempts := preparation{configs: []wazero.RuntimeConfig{interpreter.WithMemoryLimitPages(1)}}
	if made, err := attempts.factory(); made != nil || err == nil {
		t.Fatalf("with 64 KiB: %v, %v", made, err)
	}
	attempts.configs = append(attempts.configs, interpreter)
	made, err := attempts.factory()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := attempts.factory(); again != made || err != nil {
		t.Errorf("made twice: %v", err)
	}
}

// A process after another one finds the machine code, and works if it is damaged.
func TestUseCache(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "cache")
	if os.Getenv("CALLGATE_TEST_CACHE") != "" {
		directory = os.Getenv("CALLGATE_TEST_CACHE")
		if err := UseCache("/proc/version/none"); err == nil {
			t.Error("a directory that cannot be made")
		}
		// The second call replaces what the first one did.
		if err := errors.Join(UseCache(t.TempDir()), UseCache(directory)); err != nil {
			t.Fatal(err)
		}
		if _, err := CompileSource(profile(small)); err != nil {
			t.Fatal(err)
		}
		if err := UseCache(directory); err == nil {
			t.Error("a cache that nothing would use")
		}
		return
	}
	var before []string
	for run := range 3 {
		if run == 2 {
			if err := os.WriteFile(before[0], []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		command := exec.Command(os.Args[0], "-test.run=^TestUseCache$")
		command.Env = append(os.Environ(), "CALLGATE_TEST_CACHE="+directory)
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		files, err := filepath.Glob(filepath.Join(directory, "*", "*"))
		if err != nil || len(files) != 1 || run > 0 && files[0] != before[0] {
			t.Errorf("%v, %v, %v", before, files, err)
		}
		before = files
	}
}

func BenchmarkDockerDefault(b *testing.B) {
	path := os.Getenv("CALLGATE_PROFILE")
	source := Preset("container-default", machine, WithKernel("6.12"), WithArches("amd64", "386", "x32"))
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		source = Profile(text, machine, WithKernel("6.12"), WithArches("amd64", "386", "x32"))
	}
	for b.Loop() {
		if _, err := CompileSource(source); err != nil {
			b.Fatal(err)
		}
	}
}
