package callgate

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denyGetppid allows everything except getppid, which fails with EXDEV.
const denyGetppid = `{"defaultAction": "SCMP_ACT_ALLOW",
  "syscalls": [{"names": ["getppid"], "action": "SCMP_ACT_ERRNO", "errnoRet": 18}]}`

// inChild runs the test in a process of its own, because a filter cannot be removed. It returns true in that process.
func inChild(t *testing.T) bool {
	t.Helper()
	if os.Getenv("CALLGATE_TEST_CHILD") == t.Name() {
		return true
	}
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), "CALLGATE_TEST_CHILD="+t.Name())
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS") {
		t.Fatalf("%v\n%s", err, output)
	}
	return false
}

func getppid() unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
	return errno
}

func TestInstall(t *testing.T) {
	if !inChild(t) {
		return
	}
	program, err := Compile([]byte(denyGetppid))
	if err != nil {
		t.Fatal(err)
	}
	// Threads that exist before.
	ready, installed, results := make(chan bool), make(chan bool), make(chan unix.Errno)
	for range 4 {
		go func() {
			runtime.LockOSThread()
			ready <- true
			<-installed
			results <- getppid()
		}()
		<-ready
	}
	if err := program.Install(); err != nil {
		t.Fatal(err)
	}
	close(installed)
	for range 4 {
		if errno := <-results; errno != unix.EXDEV {
			t.Errorf("another thread: %v", errno)
		}
	}
	if value, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); value != 1 || err != nil {
		t.Errorf("no_new_privs: %d, %v", value, err)
	}
}

func TestInstallNamesTheThreadThatHasAnotherFilter(t *testing.T) {
	if !inChild(t) {
		return
	}
	program, err := Compile([]byte(denyGetppid))
	if err != nil {
		t.Fatal(err)
	}
	filters := program.SockFilters()
	thread, done := make(chan int), make(chan bool)
	go func() {
		runtime.LockOSThread()
		one := unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			t.Error(err)
		}
		err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&one)), 0, 0)
		if err != nil {
			t.Error(err)
		}
		thread <- unix.Gettid()
		<-done
	}()
	id := <-thread
	var failed *ThreadError
	if err := program.Install(); !errors.As(err, &failed) || failed.ID != id {
		t.Errorf("%v, not thread %d", err, id)
	}
	if errno := getppid(); errno != 0 {
		t.Errorf("the filter is installed: %v", errno)
	}
	close(done)
}

func TestInstallRefusesAFilterThatNotifies(t *testing.T) {
	const profile = `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getppid"], "action": "SCMP_ACT_NOTIFY"}]}`
	program, err := Compile([]byte(profile))
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Install(); err == nil || !strings.Contains(err.Error(), "SECCOMP_FILTER_FLAG_NEW_LISTENER") {
		t.Errorf("without a listener, getppid would fail with ENOSYS: %v", err)
	}
	if errno := getppid(); errno != 0 {
		t.Errorf("the filter is installed: %v", errno)
	}
}

func TestInstallRefuses(t *testing.T) {
	program := &Program{Instructions: []Instruction{{Code: 6, K: 0x7fff0000}}}
	if err := program.Install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER); err == nil {
		t.Error("the descriptor of a listener would be lost")
	}
	if err := new(Program).Install(); err == nil {
		t.Error("a program without instructions")
	}
	program.Flags = []string{"SECCOMP_FILTER_FLAG_OTHER"}
	if err := program.Install(); err == nil {
		t.Error("an unknown flag")
	}
}

func TestSockFilters(t *testing.T) {
	program, err := Compile([]byte(denyGetppid))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Diff(program.Source(), Instructions(FromSockFilters(program.SockFilters())))
	if err != nil || len(again) != 0 {
		t.Errorf("%v, %v", again, err)
	}
}
