package callgate

import (
	"encoding/json"
	"maps"
	"runtime"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// An Instruction is a classic BPF instruction, with the fields of struct sock_filter.
type Instruction struct {
	Code uint16
	Jt   uint8
	Jf   uint8
	K    uint32
}

// MarshalJSON writes the instruction as a list of its fields.
func (i Instruction) MarshalJSON() ([]byte, error) {
	return json.Marshal([4]uint32{uint32(i.Code), uint32(i.Jt), uint32(i.Jf), i.K})
}

// UnmarshalJSON reads a list of fields.
func (i *Instruction) UnmarshalJSON(text []byte) error {
	var fields [4]uint32
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	*i = Instruction{uint16(fields[0]), uint8(fields[1]), uint8(fields[2]), fields[3]}
	return nil
}

// A Source is a filter: a policy in any format, a program or a preset, with the options of its reading and compiling.
type Source struct {
	settings settings
	err      error
}

// Profile is a source from a text: a Docker, Podman, runc or crun profile, a Kubernetes SeccompProfile, a Kafel,
// minijail or LXC policy, Firecracker, snap or Android filters, a systemd unit, or a program as text. WithFormat names the format; without it, the
// content decides.
func Profile(text []byte, options ...Option) Source {
	source := newSource(options)
	content := string(text)
	source.settings.source.Text = &content
	if source.err == nil {
		source.err = checkUTF8(source.settings.source.Name, text)
	}
	return source
}

// Spec is a source from linux.seccomp of an OCI configuration, read as runc does unless WithFormat names another runtime.
func Spec(seccomp *specs.LinuxSeccomp, options ...Option) Source {
	if seccomp == nil {
		return Source{err: failure("linux.seccomp is nil, so the container has no filter")}
	}
	text, err := json.Marshal(seccomp)
	if err != nil {
		return Source{err: err}
	}
	return Profile(text, append([]Option{WithName("linux.seccomp"), WithFormat("runc")}, options...)...)
}

// Preset is a source by the name of a preset or of a built-in profile, such as no-ptrace, container-default or docker-default@28.
func Preset(name string, options ...Option) Source {
	source := newSource(append([]Option{WithName("preset:" + name)}, options...))
	source.settings.source.Preset = &name
	return source
}

// Instructions is a source from a program.
func Instructions(program []Instruction, options ...Option) Source {
	source := newSource(append([]Option{WithName("program")}, options...))
	if program == nil {
		program = []Instruction{}
	}
	source.settings.source.Insns = program
	return source
}

// Expression is a source that combines others, as A + B - C ^ D in the command: app + ptrace - preset:no-io-uring. Its names are
// those of sources, of presets (preset:NAME) and of syscalls. Each source is read with its own options, and is not an expression
// itself; options such as [WithArches] here are for the presets and syscalls in the expression.
func Expression(text string, sources map[string]Source, options ...Option) Source {
	expression := newSource([]Option{WithName("expression")})
	content := &expression.settings.source
	content.Expression, content.Sources = &text, make(map[string]sourceJSON, len(sources))
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		ready, err := sources[name].ready()
		if err != nil {
			return Source{err: err}
		}
		if ready.source.Name == "profile" || ready.source.Name == "program" {
			// Messages name it as the expression does.
			ready.source.Name = name
		}
		content.Sources[name] = ready.source
		expression.settings.machine = ready.machine
	}
	return expression.with(options)
}

// settings is what options set.
type settings struct {
	machine   string
	source    sourceJSON
	compiling compilingJSON
}

// sourceJSON is a source in a request.
type sourceJSON struct {
	Text       *string               `json:"text,omitempty"`
	Insns      []Instruction         `json:"insns,omitzero"`
	Preset     *string               `json:"preset,omitempty"`
	Expression *string               `json:"expression,omitempty"`
	Sources    map[string]sourceJSON `json:"sources,omitempty"`
	Name       string                `json:"name"`
	Format     string                `json:"format,omitempty"`
	Part       string                `json:"part,omitempty"`
	Files      map[string]string     `json:"files,omitempty"`
	Arches     []string              `json:"arches,omitempty"`
	Kernel     string                `json:"kernel,omitempty"`
	Caps       *string               `json:"caps,omitempty"`
	Enosys     string                `json:"enosys_above,omitempty"`
	Libseccomp string                `json:"libseccomp,omitempty"`
	Runc       string                `json:"runc,omitempty"`
	Crun       bool                  `json:"crun,omitempty"`
	Systemd    string                `json:"systemd,omitempty"`
	Minijail   string                `json:"minijail_semantics,omitempty"`
	Strict     bool                  `json:"strict,omitempty"`
	Define     []string              `json:"define,omitempty"`
	Undef      []string              `json:"undefine,omitempty"`
	Set        map[string]uint64     `json:"set,omitempty"`
}

// compilingJSON is the options of the compiler in a request.
type compilingJSON struct {
	Model        string  `json:"model,omitempty"`
	Optimize     string  `json:"optimize,omitempty"`
	Instructions string  `json:"instructions,omitempty"`
	Weights      *string `json:"weights,omitempty"`
}

func newSource(options []Option) Source {
	source := Source{settings: settings{machine: runtime.GOARCH}}
	source.settings.source.Name = "profile"
	return source.with(options)
}

// with is the source with further options.
func (s Source) with(options []Option) Source {
	for _, option := range options {
		if err := option(&s.settings); err != nil && s.err == nil {
			s.err = err
		}
	}
	return s
}

// ready is the source for a request; the kernel version is that of this machine unless it is given.
func (s Source) ready() (settings, error) {
	if s.err == nil && s.settings.machine == "" {
		s.err = failure("the zero Source is not a filter; use Profile, Spec, Preset, Instructions or Expression")
	}
	if s.settings.source.Kernel == "" {
		s.settings.source.Kernel = runningKernel()
	}
	return s.settings, s.err
}
