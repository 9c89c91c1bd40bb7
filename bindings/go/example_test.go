package callgate_test

import (
	"fmt"

	callgate "github.com/no--owner/callgate/bindings/go"
)

func ExampleCompile() {
	policy := []byte(`POLICY p { ALLOW { read, write, exit_group } } USE p DEFAULT ERRNO(1)`)
	program, err := callgate.Compile(policy, callgate.WithMachine("amd64"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, one := range program.Instructions {
		fmt.Printf("%#04x %d %d %#x\n", one.Code, one.Jt, one.Jf, one.K)
	}
	// Output:
	// 0x0020 0 0 0x4
	// 0x0015 0 5 0xc000003e
	// 0x0020 0 0 0x0
	// 0x0035 0 1 0x2
	// 0x0015 0 1 0xe7
	// 0x0006 0 0 0x7fff0000
	// 0x0006 0 0 0x50001
	// 0x0006 0 0 0x0
}

func ExampleError() {
	policy := []byte("POLICY p { ALLOW { read, wriet } }\nUSE p DEFAULT KILL")
	_, err := callgate.Compile(policy, callgate.WithMachine("amd64"), callgate.WithName("p.kafel"))
	fmt.Println(err)
	// Output:
	// callgate: p.kafel:1:26: error: unknown syscall `wriet`
	//   help: did you mean `write`?
}

// The policy is compiled once. A process that knows its descriptor sets it, and installs the program.
func ExampleTemplate_Instantiate() {
	policy := callgate.Profile([]byte("ALLOW { write { fd == $log }, exit_group } DEFAULT ERRNO(1)"),
		callgate.WithMachine("amd64"), callgate.WithName("worker.kafel"))
	template, err := callgate.CompileTemplate(policy)
	if err != nil {
		fmt.Println(err)
		return
	}
	program, err := template.Instantiate(map[string]uint64{"log": 7})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, fd := range []string{"7", "8"} {
		write := callgate.Syscall{Name: "write", Args: []string{fd}}
		simulated, err := callgate.Simulate(program.Source(callgate.WithMachine("amd64")), write)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(fd, simulated.Permitted)
	}
	_, err = template.Instantiate(map[string]uint64{"lgo": 7})
	fmt.Println(err)
	// Output:
	// 7 true
	// 8 false
	// callgate: error: the policy has no variable "lgo"; it has "log"
}
