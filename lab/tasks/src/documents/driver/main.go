// The readers of profiles that are written in Go: encoding/json with the types of Docker, Podman and runc, and what kubectl
// and the Security Profiles Operator do with a resource.
//
// A request is a line "READER LENGTH" and that many bytes of text. The answer is a line "ok LENGTH" or "no LENGTH", and that
// many bytes: the profile as JSON without anything that programs read differently, or why there is none.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	kubernetes "k8s.io/apimachinery/pkg/util/yaml"
	exact "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Condition is an item of `args`.
type Condition struct {
	Index    uint   `json:"index"`
	Value    uint64 `json:"value"`
	ValueTwo uint64 `json:"valueTwo,omitempty"`
	Op       string `json:"op"`
}

// Entry is an entry of `syscalls` in the runtime specification.
type Entry struct {
	Names    []string    `json:"names"`
	Action   string      `json:"action"`
	ErrnoRet *uint       `json:"errnoRet,omitempty"`
	Args     []Condition `json:"args,omitempty"`
}

// Common is what all profiles have beside their entries.
type Common struct {
	DefaultAction   string   `json:"defaultAction"`
	DefaultErrnoRet *uint    `json:"defaultErrnoRet,omitempty"`
	Architectures   []string `json:"architectures,omitempty"`
	Flags           []string `json:"flags,omitempty"`
}

// Listener is the socket to which notifications go.
type Listener struct {
	ListenerPath     string `json:"listenerPath,omitempty"`
	ListenerMetadata string `json:"listenerMetadata,omitempty"`
}

// Profile is `linux.seccomp` of the runtime specification.
type Profile struct {
	Common
	Listener
	Syscalls []Entry `json:"syscalls,omitempty"`
}

// Configuration is the part of an OCI configuration that matters.
type Configuration struct {
	Version string `json:"ociVersion"`
	Linux   *struct {
		Seccomp *Profile `json:"seccomp,omitempty"`
	} `json:"linux,omitempty"`
}

// Version is the value of `minKernel`.
type Version struct{ text string }

// UnmarshalJSON reads two numbers from 0 to 255 that are not both 0.
func (v *Version) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &v.text); err != nil || v.text == "" {
		return err
	}
	parts := strings.Split(v.text, ".")
	if len(parts) != 2 {
		return fmt.Errorf("version %q", v.text)
	}
	var sum uint64
	for _, part := range parts {
		number, err := strconv.ParseUint(part, 10, 8)
		if err != nil {
			return err
		}
		sum += number
	}
	if sum == 0 {
		return errors.New("version 0.0")
	}
	return nil
}

// MarshalJSON writes the text.
func (v *Version) MarshalJSON() ([]byte, error) { return json.Marshal(v.text) }

// Gate is the value of `includes` and `excludes`.
type Gate struct {
	Caps   []string `json:"caps,omitempty"`
	Arches []string `json:"arches,omitempty"`
}

// DockerGate is the same in Docker's profiles.
type DockerGate struct {
	Gate
	MinKernel *Version `json:"minKernel,omitempty"`
}

// Row is a row of `archMap`.
type Row struct {
	Architecture     string   `json:"architecture"`
	SubArchitectures []string `json:"subArchitectures"`
}

// DockerEntry is an entry of Docker's profiles.
type DockerEntry struct {
	Names    []string    `json:"names,omitempty"`
	Name     string      `json:"name,omitempty"`
	Action   string      `json:"action"`
	ErrnoRet *uint       `json:"errnoRet,omitempty"`
	Args     []Condition `json:"args,omitempty"`
	Comment  string      `json:"comment,omitempty"`
	Includes *DockerGate `json:"includes,omitempty"`
	Excludes *DockerGate `json:"excludes,omitempty"`
}

// DockerProfile is a Docker profile.
type DockerProfile struct {
	Common
	Listener
	ArchMap  []Row          `json:"archMap,omitempty"`
	Syscalls []*DockerEntry `json:"syscalls"`
}

// PodmanEntry is an entry of Podman's profiles.
type PodmanEntry struct {
	Names    []string     `json:"names,omitempty"`
	Name     string       `json:"name,omitempty"`
	Action   string       `json:"action"`
	ErrnoRet *uint        `json:"errnoRet,omitempty"`
	Errno    string       `json:"errno,omitempty"`
	Args     []*Condition `json:"args,omitempty"`
	Comment  string       `json:"comment,omitempty"`
	Includes Gate         `json:"includes"`
	Excludes Gate         `json:"excludes"`
}

// PodmanProfile is a Podman profile.
type PodmanProfile struct {
	Common
	DefaultErrno string         `json:"defaultErrno,omitempty"`
	ArchMap      []Row          `json:"archMap,omitempty"`
	Syscalls     []*PodmanEntry `json:"syscalls"`
}

// ResourceCondition is an item of `args` in a resource.
type ResourceCondition struct {
	Index    *int32 `json:"index,omitempty"`
	Value    int64  `json:"value,omitempty"`
	ValueTwo int64  `json:"valueTwo,omitempty"`
	Op       string `json:"op,omitempty"`
}

// ResourceEntry is an entry of `syscalls` in a resource.
type ResourceEntry struct {
	Names    []string            `json:"names,omitempty"`
	Action   string              `json:"action,omitempty"`
	ErrnoRet int32               `json:"errnoRet,omitempty"`
	Args     []ResourceCondition `json:"args,omitempty"`
}

// Resource is a SeccompProfile.
type Resource struct {
	Kind string `json:"kind,omitempty"`
	Spec *struct {
		Disabled        bool     `json:"disabled,omitempty"`
		State           string   `json:"state,omitempty"`
		BaseProfileName string   `json:"baseProfileName,omitempty"`
		DefaultAction   string   `json:"defaultAction,omitempty"`
		Architectures   []string `json:"architectures,omitempty"`
		Listener
		Flags    []string        `json:"flags,omitempty"`
		Syscalls []ResourceEntry `json:"syscalls,omitempty"`
	} `json:"spec,omitempty"`
}

// object reads JSON as kubectl does: keys are compared byte for byte, and integers that fit into 64 bits are kept.
func object(text []byte) (any, error) {
	var value any
	err := exact.UnmarshalCaseSensitivePreserveInts(text, &value)
	return value, err
}

// resources reads a text as kubectl does, and returns the only profile in it.
func resources(text []byte) (any, error) {
	decoder := kubernetes.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var found []*Resource
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		value, err := object(raw)
		if err != nil {
			return nil, err
		}
		items := []any{value}
		if fields, ok := value.(map[string]any); ok && strings.HasSuffix(fmt.Sprint(fields["kind"]), "List") {
			if list, ok := fields["items"].([]any); ok {
				items = list
			}
		}
		for _, item := range items {
			one, err := resource(item)
			if err != nil {
				return nil, err
			}
			if one != nil {
				found = append(found, one)
			}
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d profiles", len(found))
	}
	return found[0], nil
}

// resource returns the profile in an object; nil if it is something else.
func resource(value any) (*Resource, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("not an object")
	}
	if kind, ok := fields["kind"]; ok && kind != nil && kind != "SeccompProfile" {
		if _, ok := kind.(string); !ok {
			return nil, errors.New("the kind is not a string")
		}
		return nil, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	one := new(Resource)
	if err := exact.UnmarshalCaseSensitivePreserveInts(text, one); err != nil {
		return nil, err
	}
	if one.Spec == nil {
		return nil, errors.New("no spec")
	}
	one.Kind = "SeccompProfile"
	return one, nil
}

// only returns the document of a YAML text that has no `kind`, or the only one.
func only(text []byte) ([]byte, error) {
	reader := kubernetes.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var found, others [][]byte
	for {
		document, err := reader.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		var value any
		if err := yaml.Unmarshal(document, &value); err != nil {
			return nil, err
		}
		fields, ok := value.(map[string]any)
		switch {
		case value == nil:
		case ok && fields["kind"] != nil:
			others = append(others, document)
		default:
			found = append(found, document)
		}
	}
	if len(found) == 0 {
		found = others
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d documents", len(found))
	}
	return found[0], nil
}

// read reads a text as the reader with this name.
func read(reader string, text []byte) (profile any, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	syntax, owner, _ := strings.Cut(reader, "-")
	if owner == "resource" {
		return resources(text)
	}
	unmarshal := json.Unmarshal
	if syntax == "yaml" {
		if text, err = only(text); err != nil {
			return nil, err
		}
		unmarshal = func(data []byte, into any) error { return yaml.Unmarshal(data, into) }
	}
	switch owner {
	case "docker":
		profile = new(DockerProfile)
	case "podman":
		profile = new(PodmanProfile)
	case "runc":
		profile = new(Profile)
	case "config":
		configuration := new(Configuration)
		if err := unmarshal(text, configuration); err != nil {
			return nil, err
		}
		if configuration.Linux == nil || configuration.Linux.Seccomp == nil {
			return nil, errors.New("no profile")
		}
		return configuration.Linux.Seccomp, nil
	default:
		return nil, fmt.Errorf("unknown reader %q", reader)
	}
	return profile, unmarshal(text, profile)
}

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadString('\n')
		if err == io.EOF && line == "" {
			return
		}
		reader, length, ok := strings.Cut(strings.TrimSpace(line), " ")
		number, err := strconv.Atoi(length)
		if !ok || err != nil {
			fmt.Fprintf(os.Stderr, "wrong request: %q\n", line)
			os.Exit(1)
		}
		text := make([]byte, number)
		if _, err := io.ReadFull(in, text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		profile, err := read(reader, text)
		status, answer := "ok", []byte(nil)
		if err == nil {
			answer, err = json.Marshal(profile)
		}
		if err != nil {
			status, answer = "no", []byte(err.Error())
		}
		fmt.Fprintf(out, "%s %d\n", status, len(answer))
		out.Write(answer)
		if err := out.Flush(); err != nil {
			return
		}
	}
}
