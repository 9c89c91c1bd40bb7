// Compiles and installs the filter with gVisor's pkg/seccomp when the program starts.
package main

import "time"

// counted: start
import "gvisor.dev/gvisor/pkg/seccomp"

// counted: end

func main() {
	run, limit := begin()
	start := time.Now()
	// counted: start
	insns, _, err := policy(1, limit).Build()
	check(err)
	// counted: end
	ready := time.Now()
	// counted: start
	check(seccomp.SetFilter(insns))
	// counted: end
	run.report(start, ready, time.Now())
}
