package callgate

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const sandbox = `ALLOW {
  write { fd == $log },
  read { fd == $log || count <= $limit },
  mmap { (prot & ~$prot) == 0 && len >= $limit + 4096 },
  exit_group
} DEFAULT KILL_PROCESS`

func template(t *testing.T) *Template {
	t.Helper()
	template, err := CompileTemplate(profile(sandbox))
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// A patched program decides as the compilation of the values.
func TestInstantiate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	of := []uint64{0, 1, 4096, 1<<32 - 4096, 1<<32 - 1, 1 << 32, 1<<64 - 4096, 1<<64 - 1}
	value := func() uint64 {
		if random.IntN(2) == 0 {
			return of[random.IntN(len(of))]
		}
		return random.Uint64() >> random.IntN(64)
	}
	template := template(t)
	if len(template.Variables) != 3 || template.Variables[0] != (Variable{"log", 32}) {
		t.Errorf("%+v", template.Variables)
	}
	for range 50 {
		values := map[string]uint64{"log": uint64(uint32(value())), "limit": value(), "prot": value()}
		program, err := template.Instantiate(values)
		if err != nil {
			t.Fatal(err)
		}
		differences, err := Diff(profile(sandbox, WithValues(values)), program.Source(machine))
		if err != nil || len(differences) != 0 {
			t.Errorf("%v: %v, %v", values, differences, err)
		}
	}
}

// A template is for all values: patching one set of them does not change it.
func TestInstantiateLeavesTheTemplate(t *testing.T) {
	template := template(t)
	before := slices.Clone(template.program.Instructions)
	if _, err := template.Instantiate(map[string]uint64{"log": 7, "limit": 1, "prot": 2}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, template.program.Instructions) {
		t.Error("the template has changed")
	}
}

func TestBadValues(t *testing.T) {
	template := template(t)
	for name, values := range map[string]map[string]uint64{
		`"limit" has no value`:     {"log": 1, "prot": 3},
		`no variable "lgo"`:        {"log": 1, "limit": 2, "prot": 3, "lgo": 4},
		`no variable "log2"`:       {"log2": 1},
		`0x100000000 does not fit`: {"log": 1 << 32, "limit": 2, "prot": 3},
	} {
		var failed *Error
		_, err := template.Instantiate(values)
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := CompileSource(profile(sandbox, WithValues(values))); !errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := CompileSource(profile(sandbox)); err == nil || !strings.Contains(err.Error(), "needed") {
		t.Errorf("without values: %v", err)
	}
}
