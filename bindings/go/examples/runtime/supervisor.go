//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// A supervisor decides about syscalls of the container (linux.seccomp.listenerPath).
type supervisor struct {
	connection *net.UnixConn
	state      specs.ContainerProcessState
}

// connect connects to the supervisor before anything has started.
func connect(seccomp *specs.LinuxSeccomp, version string) (*supervisor, error) {
	if seccomp.ListenerPath == "" {
		return nil, errors.New("linux.seccomp notifies (SCMP_ACT_NOTIFY), but listenerPath is missing")
	}
	connection, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: seccomp.ListenerPath, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("linux.seccomp.listenerPath: %w", err)
	}
	state := specs.ContainerProcessState{
		Version: version, Fds: []string{specs.SeccompFdName}, Metadata: seccomp.ListenerMetadata,
		State: specs.State{Version: version, Status: specs.StateCreating},
	}
	return &supervisor{connection, state}, nil
}

// give copies the listener from the process and sends it to the supervisor with the state of the container.
func (s *supervisor) give(pid, descriptor int) error {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("pidfd_open: %w", err)
	}
	defer unix.Close(process)
	listener, err := unix.PidfdGetfd(process, descriptor, 0)
	if err != nil {
		return fmt.Errorf("pidfd_getfd: %w", err)
	}
	defer unix.Close(listener)
	s.state.Pid, s.state.State.Pid = pid, pid
	text, err := json.Marshal(s.state)
	if err != nil {
		return err
	}
	if _, _, err := s.connection.WriteMsgUnix(text, unix.UnixRights(listener), nil); err != nil {
		return fmt.Errorf("linux.seccomp.listenerPath: %w", err)
	}
	return nil
}

func (s *supervisor) close() { s.connection.Close() }
