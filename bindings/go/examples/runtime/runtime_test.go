//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// TestMain is the runtime itself, and the program in the container, if a test starts this file again.
func TestMain(m *testing.M) {
	switch {
	case os.Args[0] == "init", os.Getenv("RUNTIME_TEST") == "runtime":
		main()
	case os.Getenv("RUNTIME_TEST") == "container":
		observe()
	default:
		directory, err := os.MkdirTemp("", "callgate")
		if err != nil {
			panic(err)
		}
		cache = directory
		code := m.Run()
		os.RemoveAll(directory)
		os.Exit(code)
	}
}

// cache is a directory for the machine code of the compiler.
var cache string

// An observation is what the program in the container sees.
type observation struct {
	Uname, Getppid syscall.Errno
	// Parent is the result of getppid.
	Parent uintptr
	// NewPrivs and Filters are lines of /proc/thread-self/status.
	NoNewPrivs, Filters string
}

// observe prints the observation.
func observe() {
	var seen observation
	var name unix.Utsname
	_, _, seen.Uname = unix.RawSyscall(unix.SYS_UNAME, uintptr(unsafe.Pointer(&name)), 0, 0)
	seen.Parent, _, seen.Getppid = unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(status)) {
		switch key, value, _ := strings.Cut(line, ":"); key {
		case "NoNewPrivs":
			seen.NoNewPrivs = strings.TrimSpace(value)
		case "Seccomp_filters":
			seen.Filters = strings.TrimSpace(value)
		}
	}
	text, _ := json.Marshal(seen)
	fmt.Println(string(text))
	os.Exit(7)
}

// configuration is that of a container that observes itself: uname fails with EXDEV.
func configuration() *specs.Spec {
	errno := uint(unix.EXDEV)
	return &specs.Spec{
		Version: specs.Version,
		Process: &specs.Process{
			Args: []string{"/proc/self/exe"}, Env: []string{"RUNTIME_TEST=container"},
		},
		Linux: &specs.Linux{Seccomp: &specs.LinuxSeccomp{
			DefaultAction: specs.ActAllow,
			Syscalls:      []specs.LinuxSyscall{{Names: []string{"uname"}, Action: specs.ActErrno, ErrnoRet: &errno}},
		}},
	}
}

// runtime is a command that starts the container.
func runtime(t *testing.T, config *specs.Spec) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "/proc/self/exe", path)
	command.Env = []string{"RUNTIME_TEST=runtime", "RUNTIME_CACHE=" + cache}
	return command
}

// observed is what the program in the container sees.
func observed(t *testing.T, config *specs.Spec) observation {
	t.Helper()
	var errors bytes.Buffer
	command := runtime(t, config)
	command.Stderr = &errors
	output, err := command.Output()
	if command.ProcessState.ExitCode() != 7 {
		t.Fatalf("%v\n%s%s", err, output, errors.Bytes())
	}
	var seen observation
	if err := json.Unmarshal(output, &seen); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return seen
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs CAP_SYS_ADMIN")
	}
}

func TestTheFilterIsInPlaceWithoutNoNewPrivs(t *testing.T) {
	needsRoot(t)
	seen := observed(t, configuration())
	if seen.Uname != unix.EXDEV || seen.Getppid != 0 || seen.NoNewPrivs != "0" {
		t.Errorf("%+v", seen)
	}
}

func TestNoNewPrivilegesOfTheConfiguration(t *testing.T) {
	config := configuration()
	config.Process.NoNewPrivileges = true
	if seen := observed(t, config); seen.Uname != unix.EXDEV || seen.NoNewPrivs != "1" {
		t.Errorf("%+v", seen)
	}
	before := observed(t, &specs.Spec{Version: specs.Version, Process: config.Process})
	if before.Uname != 0 || before.NoNewPrivs != "1" {
		t.Errorf("without a filter: %+v", before)
	}
}

// Errors of the compiler and of the kernel come back as values, the latter from another process.
func TestErrors(t *testing.T) {
	invalid := configuration()
	invalid.Linux.Seccomp.Syscalls[0].Action = "SCMP_ACT_ERNO"
	write := configuration()
	write.Linux.Seccomp.Syscalls[0] = specs.LinuxSyscall{Names: []string{"write"}, Action: specs.ActNotify}
	silent := configuration()
	silent.Linux.Seccomp.Syscalls[0] = specs.LinuxSyscall{Names: []string{"uname"}, Action: specs.ActNotify}
	for text, config := range map[string]*specs.Spec{
		"the profile is invalid: ": invalid,
		"SCMP_ACT_NOTIFY":          write,
		"listenerPath is missing":  silent,
	} {
		output, err := runtime(t, config).CombinedOutput()
		if err == nil || !strings.Contains(string(output), text) {
			t.Errorf("%s: %v\n%s", text, err, output)
		}
	}
}

func TestWithoutPrivileges(t *testing.T) {
	needsRoot(t)
	// A copy that another user may execute.
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	directory, err := os.MkdirTemp("", "callgate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	program, config := filepath.Join(directory, "runtime"), filepath.Join(directory, "config.json")
	spec, err := json.Marshal(configuration())
	for path, content := range map[string][]byte{program: text, config: spec} {
		if err == nil {
			err = os.WriteFile(path, content, 0o755)
		}
	}
	if err == nil {
		err = os.Chmod(directory, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, config)
	command.Env = []string{"RUNTIME_TEST=runtime"}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	output, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "needs CAP_SYS_ADMIN or process.noNewPrivileges") {
		t.Errorf("%v\n%s", err, output)
	}
}

// The supervisor gets the listener and the state of the container, and answers for getppid.
func TestListener(t *testing.T) {
	config := configuration()
	config.Process.NoNewPrivileges = true
	seccomp := config.Linux.Seccomp
	seccomp.Syscalls = append(seccomp.Syscalls, specs.LinuxSyscall{Names: []string{"getppid"}, Action: specs.ActNotify})
	seccomp.ListenerPath = filepath.Join(t.TempDir(), "supervisor")
	seccomp.ListenerMetadata = "of this test"
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: seccomp.ListenerPath, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	states := make(chan specs.ContainerProcessState, 1)
	go func() {
		state, err := supervise(socket)
		if err != nil {
			t.Error(err)
		}
		states <- state
	}()
	seen := observed(t, config)
	if seen.Getppid != 0 || seen.Parent != 4711 || seen.Uname != unix.EXDEV {
		t.Errorf("%+v", seen)
	}
	state := <-states
	if state.Metadata != "of this test" || state.Pid == 0 || state.State.Pid != state.Pid ||
		len(state.Fds) != 1 || state.Fds[0] != specs.SeccompFdName {
		t.Errorf("%+v", state)
	}
}

// notification and response are struct seccomp_notif and struct seccomp_notif_resp.
type notification struct {
	ID         uint64
	Pid, Flags uint32
	Number     int32
	Arch       uint32
	Pointer    uint64
	Args       [6]uint64
}

type response struct {
	ID, Value    uint64
	Error, Flags int32
}

// supervise receives a listener and answers one notification with the value 4711.
func supervise(socket *net.UnixListener) (state specs.ContainerProcessState, err error) {
	socket.SetDeadline(time.Now().Add(time.Minute))
	connection, err := socket.AcceptUnix()
	if err != nil {
		return state, err
	}
	defer connection.Close()
	text, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	length, rightsLength, _, _, err := connection.ReadMsgUnix(text, rights)
	if err != nil {
		return state, err
	}
	if err := json.Unmarshal(text[:length], &state); err != nil {
		return state, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rightsLength])
	if err != nil || len(messages) != 1 {
		return state, fmt.Errorf("%d control messages: %w", len(messages), err)
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return state, err
	}
	defer unix.Close(descriptors[0])
	// Of <linux/seccomp.h>: _IOWR('!', 0, struct seccomp_notif) and _IOWR('!', 1, struct seccomp_notif_resp).
	const receive, send = 0xc0502100, 0xc0182101
	if binary.Size(notification{}) != receive>>16&0x3fff || binary.Size(response{}) != send>>16&0x3fff {
		return state, fmt.Errorf("the structures have another size")
	}
	var one notification
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(descriptors[0]), receive, uintptr(unsafe.Pointer(&one))); errno != 0 {
		return state, fmt.Errorf("receiving: %w", errno)
	}
	if one.Number != unix.SYS_GETPPID {
		return state, fmt.Errorf("notified about syscall %d", one.Number)
	}
	answer := response{ID: one.ID, Value: 4711}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(descriptors[0]), send, uintptr(unsafe.Pointer(&answer))); errno != 0 {
		return state, fmt.Errorf("answering: %w", errno)
	}
	return state, nil
}
