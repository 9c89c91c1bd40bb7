// A program that may write to the descriptor of its controller only.
package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

//go:generate callgate compile sandbox.kafel --emit go --installer --name sandbox --target x86_64 --target aarch64 -o filter.go

func main() {
	controller, err := unix.Dup(1)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := installSandbox(uint32(controller)); err != nil {
		fmt.Fprintln(os.Stderr, "cannot install the filter:", err)
		os.Exit(1)
	}
	_, other := unix.Write(1, []byte("not printed\n"))
	unix.Write(controller, []byte("to the controller: written\n"))
	unix.Write(controller, []byte(fmt.Sprintf("to standard output: %v\n", other)))
}
