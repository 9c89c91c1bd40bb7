//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"

	callgate "github.com/no--owner/callgate/bindings/go"
)

// Docker's JSON, a Kafel policy as here, a systemd unit, …
const policy = `ERRNO(1) { mkdirat } DEFAULT ALLOW`

func main() {
	program, err := callgate.Compile([]byte(policy))
	var invalid *callgate.Error
	if errors.As(err, &invalid) {
		first := invalid.First()
		fmt.Printf("line %d, column %d: %s\n", first.Line, first.Column, first.Message)
		os.Exit(1)
	}
	// All threads, with no_new_privs; *callgate.InstallError says why not.
	if err := program.Install(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(os.Mkdir("new", 0o755))
}
