//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	callgate "github.com/no--owner/callgate/bindings/go"

	"golang.org/x/sys/unix"
)

// socket is the descriptor of the connection with the first process.
const socket = 3

// initialize is the second process. It does not return.
func initialize() {
	unix.CloseOnExec(socket)
	err := become()
	answer := report{Failed: err.Error()}
	errors.As(err, &answer.Refused)
	text, _ := json.Marshal(answer)
	unix.Write(socket, text)
	os.Exit(1)
}

// become installs the filter and executes the program; if it returns, it has failed.
func become() error {
	var begin start
	if err := json.NewDecoder(os.NewFile(socket, "socket")).Decode(&begin); err != nil {
		return err
	}
	path, err := exec.LookPath(begin.Args[0])
	if err != nil {
		return err
	}
	switch {
	case begin.Program != nil:
		err = install(begin)
	case begin.NoNewPrivileges:
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, unix.Exec(path, begin.Args, begin.Env))
}

// install installs the filter in this thread, which executes the program. The other threads of this process end then, and what
// the runtime of Go does in them until then is not in the profile.
func install(begin start) error {
	options := []callgate.InstallOption{callgate.ThisThread()}
	if !begin.NoNewPrivileges {
		options = append(options, callgate.WithoutNoNewPrivs())
	}
	// The first process compiled the program. This one only knows what it received.
	if !begin.Program.Notifies() {
		return begin.Program.InstallUnproved(options...)
	}
	listener, err := begin.Program.InstallListenerUnproved(options...)
	if err != nil {
		return err
	}
	// The filter may deny sendmsg, so the first process copies the descriptor. Only write and read are needed here: a profile
	// that notifies about write is invalid for this reason.
	message := strconv.AppendInt([]byte(`{"listener":`), int64(listener), 10)
	if _, err := unix.Write(socket, append(message, "}\n"...)); err != nil {
		return err
	}
	var done [1]byte
	if count, err := unix.Read(socket, done[:]); count != 1 {
		return fmt.Errorf("the first process has ended: %w", errors.Join(err, unix.EPIPE))
	}
	return nil
}
