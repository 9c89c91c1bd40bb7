//go:build linux

// Command runtime starts a process under its filter as container runtimes do:
//
//	go run ./examples/runtime config.json
//
// It reads process.args, process.env, process.noNewPrivileges and linux.seccomp of an OCI configuration; there are no namespaces.
// Like runc, it consists of two processes. The first one compiles the filter, so that an invalid profile fails before anything
// has started. The second one, whose name is init, installs it and executes the program. RUNTIME_CACHE names a directory for the
// machine code of the compiler, such as one below /run.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	callgate "github.com/no--owner/callgate/bindings/go"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// A start is what the first process tells the second one.
type start struct {
	Args, Env       []string
	NoNewPrivileges bool
	// Program is nil if the container has no filter.
	Program *callgate.Program
}

// A report is what the second process answers, unless it executes the program at once.
type report struct {
	// Listener is the descriptor of the listener in the second process, which waits until the first one has a copy.
	Listener *int `json:"listener,omitempty"`
	// Refused is why the filter was not installed, and Failed why something else failed.
	Refused *callgate.InstallError `json:"refused,omitempty"`
	Failed  string                 `json:"failed,omitempty"`
}

func main() {
	if len(os.Args) == 1 && os.Args[0] == "init" {
		initialize()
	}
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, explain(err))
		os.Exit(125)
	}
	os.Exit(status)
}

// explain is an error with what its type says.
func explain(err error) string {
	var invalid *callgate.Error
	var refused *callgate.InstallError
	switch {
	case errors.As(err, &invalid):
		first := invalid.First()
		return fmt.Sprintf("runtime: the profile is invalid: %s, line %d: %s", first.Source, first.Line, first.Message)
	case errors.As(err, &refused) && refused.Reason == callgate.ReasonPrivileges:
		return "runtime: the filter needs CAP_SYS_ADMIN or process.noNewPrivileges"
	default:
		return "runtime: " + err.Error()
	}
}

// run starts the process of a configuration and returns its exit status.
func run(arguments []string) (int, error) {
	if len(arguments) != 1 {
		return 0, errors.New("usage: runtime CONFIG.json")
	}
	text, err := os.ReadFile(arguments[0])
	if err != nil {
		return 0, err
	}
	var config specs.Spec
	if err := json.Unmarshal(text, &config); err != nil {
		return 0, fmt.Errorf("%s: %w", arguments[0], err)
	}
	if config.Process == nil || len(config.Process.Args) == 0 {
		return 0, fmt.Errorf("%s: process.args is missing", arguments[0])
	}
	begin := start{Args: config.Process.Args, Env: config.Process.Env, NoNewPrivileges: config.Process.NoNewPrivileges}
	// A runtime starts once per container.
	if directory := os.Getenv("RUNTIME_CACHE"); directory != "" {
		if err := callgate.UseCache(directory); err != nil {
			return 0, err
		}
	}
	var supervisor *supervisor
	if config.Linux != nil && config.Linux.Seccomp != nil {
		begin.Program, err = callgate.CompileSource(callgate.Spec(config.Linux.Seccomp, callgate.WithName(arguments[0])))
		if err != nil {
			return 0, err
		}
		for _, warning := range begin.Program.Warnings {
			fmt.Fprintln(os.Stderr, warning)
		}
		if begin.Program.Notifies() {
			if supervisor, err = connect(config.Linux.Seccomp, config.Version); err != nil {
				return 0, err
			}
			defer supervisor.close()
		}
	}
	return execute(begin, supervisor)
}

// execute starts the second process, gives the listener to the supervisor, and waits.
func execute(begin start, supervisor *supervisor) (int, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	own, theirs := os.NewFile(uintptr(ends[0]), "init"), os.NewFile(uintptr(ends[1]), "init")
	defer own.Close()
	command := exec.Command("/proc/self/exe")
	command.Args = []string{"init"}
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.ExtraFiles = []*os.File{theirs}
	err = command.Start()
	theirs.Close()
	if err != nil {
		return 0, err
	}
	if err := converse(own, begin, supervisor, command.Process.Pid); err != nil {
		command.Process.Kill()
		command.Wait()
		return 0, err
	}
	var exited *exec.ExitError
	if err := command.Wait(); err != nil && !errors.As(err, &exited) {
		return 0, err
	}
	return command.ProcessState.ExitCode(), nil
}

// converse tells the second process what to do, and returns when it executes the program.
func converse(socket *os.File, begin start, supervisor *supervisor, pid int) error {
	if err := json.NewEncoder(socket).Encode(begin); err != nil {
		return err
	}
	reports := json.NewDecoder(socket)
	// The socket is closed when the program is executed.
	for reports.More() {
		var one report
		if err := reports.Decode(&one); err != nil {
			return err
		}
		switch {
		case one.Refused != nil:
			return one.Refused
		case one.Listener == nil:
			return errors.New(one.Failed)
		}
		if err := supervisor.give(pid, *one.Listener); err != nil {
			return err
		}
		if _, err := socket.Write([]byte{'\n'}); err != nil {
			return err
		}
	}
	return nil
}
