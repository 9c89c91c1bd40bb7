// Installs the filter that gVisor compiled while the program was built.
package main

import "time"

// counted: start
import "gvisor.dev/gvisor/pkg/seccomp"
import "gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"

// counted: end

func main() {
	run, limit := begin()
	start := time.Now()
	// counted: start
	values := precompiledseccomp.Values{"output": 1}
	values.SetUint64("limit", limit)
	insns, err := filter.RenderInstructions(values)
	check(err)
	// counted: end
	ready := time.Now()
	// counted: start
	check(seccomp.SetFilter(insns))
	// counted: end
	run.report(start, ready, time.Now())
}
