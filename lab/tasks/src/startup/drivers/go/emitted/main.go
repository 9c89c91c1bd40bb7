// Installs the filter that Callgate emitted as Go.
package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// insns is the result of a function that is called to be measured.
var insns []unix.SockFilter

func main() {
	run, limit := begin()
	start := time.Now()
	insns = filterFor(1, limit)
	ready := time.Now()
	// counted: start
	check(installFilter(1, limit))
	// counted: end
	run.report(start, ready, time.Now())
}
