// Shared code of the drivers in Go: reading rules (see lab/tasks/src/compare/text.rs) and measuring.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cannotExpress is the exit status if the compiler cannot express the rules.
const cannotExpress = 3

const maxRuns = 1001

// instructionPointer is the argument number of the instruction pointer.
const instructionPointer = 6

const x86_64 = 0xc000003e

type test struct {
	arg, bits   int
	cmp         string
	value, mask uint64
}

// masked reports whether the test compares only some bits of its field.
func (t test) masked() bool {
	return t.mask != ^uint64(0)>>(64-t.bits)
}

type alternative struct {
	verdict uint32
	tests   []test
}

type call struct {
	nr           uint32
	name         string
	alternatives []alternative
}

// hotCall is a frequent syscall with its share of all syscalls in thousandths.
type hotCall struct {
	nr, share uint32
}

type rules struct {
	badArch, defaultVerdict uint32
	hot                     []hotCall // the most frequent first
	calls                   []call
}

func stop(status int, format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(status)
}

func number(text string) uint64 {
	value, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		stop(1, "not a number: %s", text)
	}
	return value
}

// readRules reads rules for x86_64; these compilers support one architecture per program.
func readRules(path string) rules {
	file, err := os.Open(path)
	if err != nil {
		stop(1, "%v", err)
	}
	defer file.Close()
	var r rules
	arches := 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		last := len(r.calls) - 1
		switch words[0] {
		case "bad_arch":
			r.badArch = uint32(number(words[1]))
		case "x32":
			// The verdict for these numbers is fixed in each compiler.
		case "hot":
			r.hot = append(r.hot, hotCall{uint32(number(words[1])), uint32(number(words[2]))})
		case "arch":
			arches++
			if arches > 1 || number(words[2]) != x86_64 {
				stop(cannotExpress, "it supports one architecture per program")
			}
			r.defaultVerdict = uint32(number(words[3]))
		case "call":
			r.calls = append(r.calls, call{nr: uint32(number(words[1])), name: words[2]})
		case "then":
			then := alternative{verdict: uint32(number(words[1]))}
			r.calls[last].alternatives = append(r.calls[last].alternatives, then)
		case "test":
			alternatives := r.calls[last].alternatives
			then := &alternatives[len(alternatives)-1]
			then.tests = append(then.tests, test{
				arg:   int(number(words[1])),
				bits:  int(number(words[2])),
				cmp:   words[3],
				value: number(words[4]),
				mask:  number(words[5]),
			})
		default:
			stop(1, "cannot read: %s", lines.Text())
		}
	}
	return r
}

// instruction is a struct sock_filter.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

func write(path string, program []instruction) {
	var bytes []byte
	for _, insn := range program {
		bytes = binary.NativeEndian.AppendUint16(bytes, insn.code)
		bytes = append(bytes, insn.jt, insn.jf)
		bytes = binary.NativeEndian.AppendUint32(bytes, insn.k)
	}
	if err := os.WriteFile(path, bytes, 0o666); err != nil {
		stop(1, "%v", err)
	}
}

// measure repeats a compilation, which returns its time, and prints the median.
func measure(milliseconds string, compile func() time.Duration) {
	budget := time.Duration(number(milliseconds)) * time.Millisecond
	var times []time.Duration
	for spent := time.Duration(0); len(times) == 0 || spent < budget && len(times) < maxRuns; {
		took := compile()
		spent += took
		times = append(times, took)
	}
	slices.Sort(times)
	fmt.Printf("time %d %d\n", len(times), times[len(times)/2].Nanoseconds())
	fmt.Printf("memory %d\n", peak())
}

// peak returns the maximum resident memory of this process in KiB.
func peak() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		stop(1, "%v", err)
	}
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "VmHWM:" {
			if kib, err := strconv.Atoi(words[1]); err == nil {
				return kib
			}
		}
	}
	return 0
}
