// Package callgate compiles seccomp filters for Linux: any description of a filter to a small, fast program that is proved
// equivalent to it. It needs neither cgo nor libseccomp.
//
//	program, err := callgate.Compile(profile) // Docker's JSON, Kafel, a systemd unit, …
//	if err != nil {
//		return err // with line, column and advice
//	}
//	return program.Install()
//
// All functions are safe for concurrent use. Compiling needs no privileges, and works on every operating system;
// [Program.Install] is for Linux. The work of a call is bounded by the limits of readers and of decision diagrams
// (docs/reference/limits.md of the project): a filter that exceeds one is an [Error]. At most GOMAXPROCS calls work at a time, each with
// at most 512 MiB; others wait. The first call prepares the compiler, which takes about a second of processor time: see
// [UseCache].
package callgate

import "slices"

// A Program is a filter that the kernel accepts, proved equivalent to its source if a function of this package made it.
// [Program.Install] installs only such programs: a change of Instructions, or a way through JSON, loses the proof.
type Program struct {
	// Instructions is the program.
	Instructions []Instruction `json:"program"`
	// Arches is the architectures of the source.
	Arches []string `json:"arches"`
	// Endian is the byte order of its machines, little or big.
	Endian string `json:"endian"`
	// Flags is the flags with which the source wants to be installed, such as SECCOMP_FILTER_FLAG_LOG.
	Flags []string `json:"flags"`
	// FilteredInstructions is the mean number of instructions executed by permitted syscalls for which every kernel runs the
	// filter; nil if there are none, or if the diagram is too large to tell.
	FilteredInstructions *float64 `json:"filtered_insns"`
	// ExpectedInstructions is the mean number of instructions that a syscall executes before Linux 5.11; nil if no syscall is
	// permitted, or if the diagram is too large to tell.
	ExpectedInstructions *float64 `json:"expected_insns"`
	// ConstantAllow is the number of syscalls that the kernel allows without running the filter (Linux 5.11 and later).
	ConstantAllow int `json:"constant_allow"`
	// Nodes is the number of nodes of the decision diagram.
	Nodes int `json:"nodes"`
	// Optimized is whether Optimize replaced the program, and Reason why it did not.
	Optimized bool   `json:"optimized"`
	Reason    string `json:"reason"`
	// Warnings are the messages about the source that are not errors.
	Warnings []Diagnostic `json:"-"`

	// proved is a copy of the instructions that were proved; nil if none were. No code changes its elements.
	proved []Instruction
}

// Source is the program as a source, to compare or explain it.
func (p *Program) Source(options ...Option) Source {
	own := append([]Option{WithArches(p.Arches...)}, options...)
	return Instructions(p.Instructions, own...)
}

// Compile compiles a profile: see Profile for the formats.
func Compile(profile []byte, options ...Option) (*Program, error) {
	return CompileSource(Profile(profile, options...))
}

// CompileSource compiles a source into a program.
func CompileSource(source Source, options ...Option) (*Program, error) {
	return generate("compile", source.with(options))
}

// Optimize makes a better program with the same meaning, or returns the given one; Program.Optimized says which. Of the given
// one, nothing is proved.
func Optimize(program []Instruction, options ...Option) (*Program, error) {
	return generate("optimize", Instructions(program, options...))
}

// Merge makes one program of the filters of a stack, the oldest first.
func Merge(sources []Source, options ...Option) (*Program, error) {
	all := newSource(options)
	request := struct {
		Request string        `json:"request"`
		Machine string        `json:"machine"`
		Sources []sourceJSON  `json:"sources"`
		Options compilingJSON `json:"options"`
	}{"merge", all.settings.machine, nil, all.settings.compiling}
	for _, source := range sources {
		ready, err := source.ready()
		if err != nil {
			return nil, err
		}
		request.Machine = ready.machine
		request.Sources = append(request.Sources, ready.source)
	}
	if all.err != nil {
		return nil, all.err
	}
	return programOf(request)
}

func generate(kind string, source Source) (*Program, error) {
	ready, err := source.ready()
	if err != nil {
		return nil, err
	}
	return programOf(request(kind, ready))
}

// request is a request about one source.
func request(kind string, ready settings) any {
	return struct {
		Request string        `json:"request"`
		Machine string        `json:"machine"`
		Source  sourceJSON    `json:"source"`
		Options compilingJSON `json:"options"`
	}{kind, ready.machine, ready.source, ready.compiling}
}

func programOf(request any) (*Program, error) {
	var result struct {
		Program
		Proved bool `json:"proved"`
	}
	warnings, err := call(request, &result)
	if err != nil {
		return nil, err
	}
	program := &result.Program
	program.Warnings = warnings
	if result.Proved {
		program.proved = slices.Clone(program.Instructions)
	}
	return program, nil
}
