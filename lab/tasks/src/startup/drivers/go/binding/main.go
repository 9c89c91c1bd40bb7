// Compiles and installs the filter with Callgate's Go module when the program starts.
package main

import "time"

// counted: policy
import "fmt"
import callgate "github.com/no--owner/callgate/bindings/go"

const policy = `
ALLOW {
  read, futex, nanosleep, clone, rseq, sigaltstack, rt_sigprocmask, rt_sigreturn, exit_group,
  write { fd == %d },
  mmap { len <= %d }
}
DEFAULT ERRNO(1)
`

// counted: end

func main() {
	run, limit := begin()
	start := time.Now()
	// counted: start
	program, err := callgate.Compile([]byte(fmt.Sprintf(policy, 1, limit)), callgate.WithFormat("kafel"))
	check(err)
	// counted: end
	ready := time.Now()
	// counted: start
	check(program.Install())
	// counted: end
	run.report(start, ready, time.Now())
}
