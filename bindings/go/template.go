package callgate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Variable is a value of a policy that is known only when the process starts, such as $fd in Kafel.
type Variable struct {
	Name string `json:"name"`
	// Bits is its width, 32 or 64.
	Bits int `json:"bits"`
}

// A Template is a program with variables, proved equivalent to its source for all of their values. Only a [Program] can be
// installed: see Instantiate.
type Template struct {
	// Variables are the variables in the order of their first use.
	Variables []Variable
	// Warnings are the messages about the source that are not errors.
	Warnings []Diagnostic

	program Program
	patches []patch
}

// A patch replaces the constant of an instruction.
type patch struct {
	insn, variable   int
	high, complement bool
	addend           uint64
}

// WithValues gives the variables of a policy their values, so that it has none left.
func WithValues(values map[string]uint64) Option {
	values = maps.Clone(values)
	return set(func(s *settings) { s.source.Set = values })
}

// CompileTemplate compiles a policy with variables, once for all values.
func CompileTemplate(source Source, options ...Option) (*Template, error) {
	ready, err := source.with(options).ready()
	if err != nil {
		return nil, err
	}
	var result struct {
		Program
		Variables []Variable `json:"variables"`
		Patches   []struct {
			Insn       int    `json:"insn"`
			Variable   int    `json:"variable"`
			Half       string `json:"half"`
			Addend     string `json:"addend"`
			Complement bool   `json:"complement"`
		} `json:"patches"`
	}
	warnings, err := call(request("template", ready), &result)
	if err != nil {
		return nil, err
	}
	template := &Template{Variables: result.Variables, Warnings: warnings, program: result.Program}
	for _, one := range result.Patches {
		addend, err := strconv.ParseUint(one.Addend, 0, 64)
		if err != nil {
			return nil, fmt.Errorf("callgate: the answer of the engine: %w", err)
		}
		template.patches = append(template.patches,
			patch{one.Insn, one.Variable, one.Half == "high", one.Complement, addend})
	}
	return template, nil
}

// Instantiate is the program for these values, one for each variable. It does not compile again.
func (t *Template) Instantiate(values map[string]uint64) (*Program, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(t.Variables, func(one Variable) bool { return one.Name == name }) {
			return nil, failure("the policy has no variable %q; %s", name, named(t.Variables))
		}
	}
	given := make([]uint64, len(t.Variables))
	for at, variable := range t.Variables {
		value, found := values[variable.Name]
		if !found {
			return nil, failure("the variable %q has no value", variable.Name)
		}
		if variable.Bits < 64 && value>>variable.Bits != 0 {
			return nil, failure("%#x does not fit into the variable %q, which has %d bits", value, variable.Name, variable.Bits)
		}
		given[at] = value
	}
	program := t.program
	program.Instructions = slices.Clone(program.Instructions)
	for _, patch := range t.patches {
		value := given[patch.variable] + patch.addend
		if patch.complement {
			value = ^value
		}
		if patch.high {
			value >>= 32
		}
		program.Instructions[patch.insn].K = uint32(value)
	}
	// The template was proved for all values.
	program.proved = slices.Clone(program.Instructions)
	program.Warnings = slices.Clone(t.Warnings)
	return &program, nil
}

// named says which variables there are.
func named(variables []Variable) string {
	if len(variables) == 0 {
		return "it has none"
	}
	names := make([]string, len(variables))
	for at, variable := range variables {
		names[at] = strconv.Quote(variable.Name)
	}
	return "it has " + strings.Join(names, ", ")
}
