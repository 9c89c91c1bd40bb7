//go:build linux

// Command install compiles a filter, installs it and executes a command under it:
//
//	go run ./examples/install profile.json ls
package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	callgate "github.com/no--owner/callgate/bindings/go"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run() error {
	if len(os.Args) < 2 {
		return fmt.Errorf("usage: install PROFILE [COMMAND [ARGUMENT]...]")
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	program, err := callgate.Compile(text, callgate.WithName(os.Args[1]))
	if err != nil {
		return err
	}
	for _, warning := range program.Warnings {
		fmt.Fprintln(os.Stderr, warning)
	}
	if len(os.Args) == 2 {
		fmt.Printf("%d instructions for %v\n", len(program.Instructions), program.Arches)
		return nil
	}
	path, err := exec.LookPath(os.Args[2])
	if err != nil {
		return err
	}
	if err := program.Install(); err != nil {
		return err
	}
	return syscall.Exec(path, os.Args[2:], os.Environ())
}
