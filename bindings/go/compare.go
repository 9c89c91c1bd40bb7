package callgate

// A Verdict is what a filter returns.
type Verdict struct {
	// Verdict is the action with its data, such as ERRNO(1).
	Verdict string `json:"verdict"`
	// Value is the 32-bit value.
	Value uint32 `json:"value"`
}

// A Difference is a group of syscalls for which two filters differ, with an example.
type Difference struct {
	Arch               string    `json:"arch"`
	ArchToken          uint32    `json:"arch_token"`
	Call               string    `json:"call"`
	Number             uint32    `json:"nr"`
	Args               [6]uint64 `json:"args"`
	InstructionPointer uint64    `json:"instruction_pointer"`
	A                  Verdict   `json:"a"`
	B                  Verdict   `json:"b"`
	// Alike is the ranges of syscall numbers that differ in the same way.
	Alike [][2]uint32 `json:"alike"`
}

// Diff returns the syscalls for which two filters differ; none if they are equivalent for all syscalls, arguments and
// architectures. All 64 bits of arguments count, also those that the kernel ignores.
func Diff(a, b Source) ([]Difference, error) {
	var result struct {
		Differences []Difference `json:"differences"`
	}
	err := compare("diff", a, b, &result)
	return result.Differences, err
}

// Subset returns the syscalls for which a is looser than b; none if a allows nothing that b does not, as the kernel reads
// arguments: of an int, only the low 32 bits count.
func Subset(a, b Source) ([]Difference, error) {
	var result struct {
		Witnesses []Difference `json:"witnesses"`
	}
	err := compare("subset", a, b, &result)
	return result.Witnesses, err
}

func compare(kind string, a, b Source, result any) error {
	left, err := a.ready()
	if err != nil {
		return err
	}
	right, err := b.ready()
	if err != nil {
		return err
	}
	left.source.Name, right.source.Name = sideName("a", left), sideName("b", right)
	_, err = call(struct {
		Request string     `json:"request"`
		Machine string     `json:"machine"`
		A       sourceJSON `json:"a"`
		B       sourceJSON `json:"b"`
	}{kind, left.machine, left.source, right.source}, result)
	return err
}

// sideName is the name of a filter of two, so that messages tell them apart.
func sideName(side string, ready settings) string {
	switch name := ready.source.Name; name {
	case "profile", "program", "expression":
		return side
	default:
		return name
	}
}
