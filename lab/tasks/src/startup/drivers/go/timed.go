package main

import (
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// A run is what a program measures.
type run struct {
	// parent is the clock of the parent, and began that of this process, both in nanoseconds of the monotonic clock.
	parent, began int64
	// at is the time of began.
	at time.Time
}

// begin returns the run of this process, and the value of the variable limit.
func begin() (run, uint64) {
	if len(os.Args) != 3 {
		fail("usage: CLOCK LIMIT")
	}
	parent, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err != nil {
		fail(err.Error())
	}
	limit, err := strconv.ParseUint(os.Args[2], 10, 64)
	if err != nil {
		fail(err.Error())
	}
	// The filter denies clock_gettime(2), which time.Now does not need.
	const monotonic = 1
	var clock syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&clock)), 0)
	if errno != 0 {
		fail(errno.Error())
	}
	return run{parent: parent, began: clock.Nano(), at: time.Now()}, limit
}

// report writes the nanoseconds from start to ready, and from there to installed, and those since the parent's clock. Then it
// reads standard input to its end, so that the parent can look at the process. The filter denies system calls that the runtime
// would need to replace a blocked thread, so it does not hear of these.
func (r run) report(start, ready, installed time.Time) {
	text := make([]byte, 0, 100)
	for _, nanoseconds := range []int64{
		int64(ready.Sub(start)), int64(installed.Sub(ready)), r.began + int64(installed.Sub(r.at)) - r.parent,
	} {
		text = append(strconv.AppendInt(text, nanoseconds, 10), ' ')
	}
	text[len(text)-1] = '\n'
	status := uintptr(0)
	if n, _, _ := syscall.RawSyscall(syscall.SYS_WRITE, 1, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text))); int(n) != len(text) {
		status = 1
	}
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, 0, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)))
		if errno != 0 || n == 0 {
			break
		}
	}
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, status, 0, 0)
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(why string) {
	os.Stderr.WriteString(why + "\n")
	os.Exit(1)
}
