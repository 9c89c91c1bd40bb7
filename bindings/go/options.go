package callgate

import "maps"

// An Option changes how a source is read or compiled.
type Option func(*settings) error

func set(change func(*settings)) Option {
	return func(s *settings) error {
		change(s)
		return nil
	}
}

// WithName sets the name of the source in messages. Without a format, its extension helps to recognize it.
func WithName(name string) Option { return set(func(s *settings) { s.source.Name = name }) }

// WithFormat sets the format: a name such as docker or kafel, as before the colon of a source of the command, or bpftext.
func WithFormat(format string) Option { return set(func(s *settings) { s.source.Format = format }) }

// WithArches sets the architectures, by their names here (x86_64), in Go (amd64) or in profiles (SCMP_ARCH_X86_64). The
// default is those of the source that this machine supports.
func WithArches(arches ...string) Option { return set(func(s *settings) { s.source.Arches = arches }) }

// WithMachine sets the architecture of the machine for which filters are compiled; the default is runtime.GOARCH.
func WithMachine(arch string) Option { return set(func(s *settings) { s.machine = arch }) }

// WithKernel sets the kernel version for the conditions of a profile, such as 6.12; the default is the running kernel.
func WithKernel(version string) Option { return set(func(s *settings) { s.source.Kernel = version }) }

// WithCapabilities sets the capabilities for the conditions of a profile: docker (the default), all, none, or a list such as
// CAP_CHOWN,CAP_SYS_ADMIN.
func WithCapabilities(caps string) Option { return set(func(s *settings) { s.source.Caps = &caps }) }

// WithENOSYSAbove sets whether syscalls newer than all that a profile names fail with ENOSYS: on, runc-1.1 or off. The default
// depends on the format.
func WithENOSYSAbove(how string) Option { return set(func(s *settings) { s.source.Enosys = how }) }

// WithLibseccomp sets the version of libseccomp that reads the names of syscalls, such as 2.5.3: rules for names that it does not
// know have no effect. The default knows all.
func WithLibseccomp(version string) Option {
	return set(func(s *settings) { s.source.Libseccomp = version })
}

// WithRunc reads a profile as a version of runc does, such as 1.1.12: its rule for new syscalls, and the libseccomp of its official
// binaries.
func WithRunc(version string) Option { return set(func(s *settings) { s.source.Runc = version }) }

// WithCrun reads a profile as crun does, without a rule for new syscalls.
func WithCrun() Option { return set(func(s *settings) { s.source.Crun = true }) }

// WithSystemd sets the version of systemd for units, such as 257.
func WithSystemd(version string) Option { return set(func(s *settings) { s.source.Systemd = version }) }

// WithMinijailSemantics sets the compiler of minijail that decides what a policy means: c or python.
func WithMinijailSemantics(compiler string) Option {
	return set(func(s *settings) { s.source.Minijail = compiler })
}

// WithPart sets the part of a text that has several: the name of a Kubernetes resource, the thread of a Firecracker
// document, or the name or line of an array in source code.
func WithPart(name string) Option { return set(func(s *settings) { s.source.Part = name }) }

// WithFiles sets the files that a policy includes, or base profiles, by the names that the source uses.
func WithFiles(files map[string]string) Option {
	files = maps.Clone(files)
	return func(s *settings) error {
		for name, text := range files {
			if err := checkUTF8(name, []byte(text)); err != nil {
				return err
			}
		}
		s.source.Files = files
		return nil
	}
}

// WithDefinitions sets macros with which C as text is read: "NAME=VALUE", or "NAME" for 1.
func WithDefinitions(macros ...string) Option {
	return set(func(s *settings) { s.source.Define = macros })
}

// WithUndefined sets macros that are not defined when C as text is read.
func WithUndefined(macros ...string) Option {
	return set(func(s *settings) { s.source.Undef = macros })
}

// Strict makes unknown names of syscalls errors instead of warnings.
func Strict() Option { return set(func(s *settings) { s.source.Strict = true }) }

// WithModel sets the cost model of the kernel: cached (Linux 5.11 and later, the default) or uncached.
func WithModel(model string) Option { return set(func(s *settings) { s.compiling.Model = model }) }

// OptimizeSize makes the shortest program; the default is the fewest executed instructions.
func OptimizeSize() Option { return set(func(s *settings) { s.compiling.Optimize = "size" }) }

// BasicInstructions restricts programs to the instructions that libseccomp's simulator executes.
func BasicInstructions() Option {
	return set(func(s *settings) { s.compiling.Instructions = "basic" })
}

// WithWeights sets how often syscalls occur: a name and a count per line, or a table of strace -c.
func WithWeights(text string) Option { return set(func(s *settings) { s.compiling.Weights = &text }) }
