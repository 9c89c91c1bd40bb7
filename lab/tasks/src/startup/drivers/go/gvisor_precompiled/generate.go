// Compiles the filter while the program is built, and writes it as Go.
package main

// counted: build
import "fmt"
import "os"
import "gvisor.dev/gvisor/pkg/seccomp"
import "gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"

func main() {
	variables := []string{"output", "limit_high32bits", "limit_low32bits"}
	build := func(values precompiledseccomp.Values) *seccomp.Program {
		return policy(values["output"], values.GetUint64("limit"))
	}
	program, err := precompiledseccomp.Precompile("filter", variables, build)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("package main")
	fmt.Println(`import "gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"`)
	fmt.Println("var filter = " + program.Expr("", "precompiledseccomp"))
}

// counted: end
