// Measures interpreters in Go: main PROGRAM INPUTS gvisor|x-net
//
// Input and output are those of bench.c.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	xnet "golang.org/x/net/bpf"
	"gvisor.dev/gvisor/pkg/bpf"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// gvisor returns a function that runs the program with gVisor's pkg/bpf.
func gvisor(code []byte) func([]byte) uint32 {
	var insns []bpf.Instruction
	for ; len(code) > 0; code = code[8:] {
		insns = append(insns, bpf.Instruction{
			OpCode:      binary.LittleEndian.Uint16(code),
			JumpIfTrue:  code[2],
			JumpIfFalse: code[3],
			K:           binary.LittleEndian.Uint32(code[4:]),
		})
	}
	program, err := bpf.Compile(insns, false)
	check(err)
	return func(input []byte) uint32 {
		// An error ends the program with 0.
		value, _ := bpf.Exec[bpf.BigEndian](program, bpf.Input(input))
		return value
	}
}

// network returns a function that runs the program with golang.org/x/net/bpf.
func network(code []byte) func([]byte) uint32 {
	var raw []xnet.RawInstruction
	for ; len(code) > 0; code = code[8:] {
		raw = append(raw, xnet.RawInstruction{
			Op: binary.LittleEndian.Uint16(code),
			Jt: code[2],
			Jf: code[3],
			K:  binary.LittleEndian.Uint32(code[4:]),
		})
	}
	insns, decoded := xnet.Disassemble(raw)
	if !decoded {
		check(fmt.Errorf("golang.org/x/net/bpf does not know all instructions"))
	}
	vm, err := xnet.NewVM(insns)
	check(err)
	return func(input []byte) uint32 {
		value, _ := vm.Run(input)
		return uint32(value)
	}
}

var sink uint32

func best(run func([]byte) uint32, inputs [][]byte) float64 {
	least, turns := 1e30, 1
	for round := 0; round < 7; {
		start := time.Now()
		for turn := 0; turn < turns; turn++ {
			for _, input := range inputs {
				sink += run(input)
			}
		}
		taken := time.Since(start)
		if taken < 4*time.Millisecond {
			turns *= 2
			continue
		}
		round++
		least = min(least, float64(taken.Nanoseconds())/float64(turns)/float64(len(inputs)))
	}
	return least
}

func main() {
	code, err := os.ReadFile(os.Args[1])
	check(err)
	all, err := os.ReadFile(os.Args[2])
	check(err)
	run := gvisor
	if os.Args[3] == "x-net" {
		run = network
	}
	filter := run(code)
	var inputs [][]byte
	for all = all[4:]; len(all) > 0; {
		end := 4 + binary.LittleEndian.Uint32(all)
		inputs = append(inputs, all[4:end])
		all = all[end:]
	}
	hash := uint64(0xcbf29ce484222325)
	for _, input := range inputs {
		hash = (hash ^ uint64(filter(input))) * 0x100000001b3
	}
	fmt.Printf("%.3f %.3f %d\n", best(filter, inputs[:1]), best(filter, inputs[1:]), hash)
}
