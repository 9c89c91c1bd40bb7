package callgate

// An Explanation is what a filter does with each syscall, derived from its meaning.
type Explanation struct {
	Source string            `json:"source"`
	Arches []ArchExplanation `json:"arches"`
	// OtherArches is the verdict for all other architectures; nil if it depends on the syscall.
	OtherArches *Verdict `json:"other_arches"`
}

// An ArchExplanation is the explanation for one architecture.
type ArchExplanation struct {
	Arch string `json:"arch"`
	// Groups are the named syscalls by what the filter does with them.
	Groups []Group `json:"groups"`
	// Unnamed is the same for numbers without a name.
	Unnamed []Unnamed `json:"unnamed"`
}

// A Group is syscalls with the same outcome.
type Group struct {
	Outcome Outcome `json:"outcome"`
	Calls   []struct {
		Number uint32 `json:"nr"`
		Name   string `json:"name"`
	} `json:"calls"`
}

// Unnamed is numbers without a name, as ranges, with the same outcome.
type Unnamed struct {
	Outcome Outcome     `json:"outcome"`
	Numbers [][2]uint32 `json:"numbers"`
}

// An Outcome is what a filter does with a syscall.
type Outcome struct {
	// Kind is always, depends or complex.
	Kind string `json:"kind"`
	// Always is the verdict of kind always.
	Always Verdict `json:"always"`
	// Clauses and Otherwise are of kind depends: the first clause that applies decides.
	Clauses []struct {
		If   []Condition `json:"if"`
		Then Verdict     `json:"then"`
	} `json:"clauses"`
	Otherwise Verdict `json:"otherwise"`
	// Verdicts are of kind complex: all that occur.
	Verdicts []Verdict `json:"verdicts"`
}

// A Condition is a condition on an argument.
type Condition struct {
	Arg int `json:"arg"`
	// Part is whole, low or high: 64 bits, or 32 of them.
	Part string `json:"part"`
	// Text is the condition for people.
	Text string `json:"text"`
	// Ranges is the values, if they are few ranges.
	Ranges [][2]uint64 `json:"ranges"`
	// Mask selects bits, which must equal Equals or differ from DiffersFrom.
	Mask        *uint64 `json:"mask"`
	Equals      *uint64 `json:"equals"`
	DiffersFrom *uint64 `json:"differs_from"`
	// Relation is that to another argument: ==, !=, <, <=, >, >=, "shares a bit" or "shares no bit".
	Relation string `json:"relation"`
	// OtherArg is the index of the other argument; nil for the instruction pointer.
	OtherArg *int `json:"other_arg"`
	// OtherPart is the part of it that is compared.
	OtherPart string `json:"other_part"`
	// Count is the number of values, if they are neither.
	Count string `json:"count"`
}

// Explain says what a filter does with these syscalls, names or numbers; with all if none are given.
func Explain(source Source, syscalls ...string) (*Explanation, error) {
	ready, err := source.ready()
	if err != nil {
		return nil, err
	}
	explanation := new(Explanation)
	_, err = call(struct {
		Request  string     `json:"request"`
		Machine  string     `json:"machine"`
		Source   sourceJSON `json:"source"`
		Syscalls []string   `json:"syscalls,omitempty"`
	}{"explain", ready.machine, ready.source, syscalls}, explanation)
	if err != nil {
		return nil, err
	}
	return explanation, nil
}

// A Syscall is a syscall with its arguments.
type Syscall struct {
	// Name is the name, or a number as text.
	Name string `json:"syscall"`
	// Args are up to six arguments: numbers or constants such as O_RDWR|O_CLOEXEC.
	Args []string `json:"args,omitempty"`
	// Arch is its architecture; the default is that of the machine if the filter supports it.
	Arch string `json:"arch,omitempty"`
	// InstructionPointer is the address of the instruction after the syscall instruction.
	InstructionPointer uint64 `json:"instruction_pointer,omitempty"`
}

// A Simulated is the verdict of a program for a syscall.
type Simulated struct {
	Verdict
	Arch      string    `json:"arch"`
	Number    uint32    `json:"nr"`
	Args      [6]uint64 `json:"args"`
	Permitted bool      `json:"permitted"`
	// Executed is the number of executed instructions.
	Executed int `json:"executed"`
	// ConstantAllow is whether the kernel allows the syscall without running the program (Linux 5.11 and later).
	ConstantAllow bool `json:"constant_allow"`
}

// Simulate returns the verdict for a syscall; a profile is compiled first.
func Simulate(source Source, syscall Syscall) (*Simulated, error) {
	ready, err := source.ready()
	if err != nil {
		return nil, err
	}
	simulated := new(Simulated)
	_, err = call(struct {
		Request string        `json:"request"`
		Machine string        `json:"machine"`
		Source  sourceJSON    `json:"source"`
		Options compilingJSON `json:"options"`
		Syscall
	}{"simulate", ready.machine, ready.source, ready.compiling, syscall}, simulated)
	if err != nil {
		return nil, err
	}
	return simulated, nil
}
