package callgate

// LintOptions choose the findings that count.
type LintOptions struct {
	// Level is the least serious level that counts: note, warning (the default) or error.
	Level string
	// Allow silences checks, each ID or ID=SYSCALL. Comments in the text of the source do, too.
	Allow []string
}

// Findings are what Lint found in a source. The warnings of its reader are among them.
type Findings struct {
	Source string `json:"source"`
	// Findings are those of the level and above, the most serious first.
	Findings []Finding `json:"findings"`
	// BelowLevel is the number of findings below the level.
	BelowLevel int `json:"below_level"`
	// Silenced is the number of findings that options or comments silence.
	Silenced int `json:"silenced"`
}

// A Finding is a mistake in a filter, or a way to evade it.
type Finding struct {
	// ID is the identifier of the check, which does not change, such as high-bits.
	ID string `json:"id"`
	// Level is note, warning or error; an error means that a program can evade a rule.
	Level string `json:"level"`
	// Filter is the name of the filter, if the source has several.
	Filter string `json:"filter"`
	// File is the source, or a file that it includes.
	File string `json:"file"`
	// Line and Column start at 1; they are 0 if the finding is about the filter as a whole.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Arches are the architectures on which it was found.
	Arches []string `json:"arches"`
	// Syscalls are those that it is about.
	Syscalls []string `json:"syscalls"`
	// Title is what the check finds in general, Message what it found here.
	Title   string `json:"title"`
	Message string `json:"message"`
	// Help is what to do about it.
	Help string `json:"help"`
	// Examples are syscalls that show it, with the verdicts of the filter.
	Examples []FindingExample `json:"examples"`
}

// A FindingExample is a syscall and what a filter does with it.
type FindingExample struct {
	Verdict
	Arch               string    `json:"arch"`
	ArchToken          uint32    `json:"arch_token"`
	Call               string    `json:"call"`
	Number             uint32    `json:"nr"`
	Args               [6]uint64 `json:"args"`
	InstructionPointer uint64    `json:"instruction_pointer"`
	// Text is the syscall for people, such as socket(AF_VSOCK).
	Text string `json:"text"`
}

// Lint finds mistakes in a filter, and ways to evade it. The zero LintOptions mean warnings and errors.
func Lint(source Source, options LintOptions) (*Findings, error) {
	ready, err := source.ready()
	if err != nil {
		return nil, err
	}
	findings := new(Findings)
	_, err = call(struct {
		Request string     `json:"request"`
		Machine string     `json:"machine"`
		Source  sourceJSON `json:"source"`
		Level   string     `json:"level,omitempty"`
		Allow   []string   `json:"allow,omitempty"`
	}{"lint", ready.machine, ready.source, options.Level, options.Allow}, findings)
	if err != nil {
		return nil, err
	}
	return findings, nil
}
