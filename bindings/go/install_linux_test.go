package callgate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

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
	program := compile(t, denyGetppid)
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
	if value := noNewPrivs(t); value != 1 {
		t.Errorf("no_new_privs: %d", value)
	}
}

// notifies allows everything except getppid, about which it asks a listener.
const notifies = `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getppid"], "action": "SCMP_ACT_NOTIFY"}]}`

func compile(t *testing.T, profile string) *Program {
	t.Helper()
	program, err := Compile([]byte(profile))
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// reason is the reason of an error of an installation.
func reason(t *testing.T, err error) *InstallError {
	t.Helper()
	var refused *InstallError
	if !errors.As(err, &refused) {
		t.Fatalf("%v", err)
	}
	if refused.Message == "" || refused.Help == "" || !strings.HasPrefix(err.Error(), "callgate: "+refused.Message) {
		t.Errorf("%+v", refused)
	}
	return refused
}

func noNewPrivs(t *testing.T) int {
	t.Helper()
	value, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Each thread has a filter of its own, and the rest of the process none.
func TestInstallInThisThread(t *testing.T) {
	if !inChild(t) {
		return
	}
	template, err := CompileTemplate(Profile([]byte("ERRNO(1) { dup { fildes != $fd } } DEFAULT ALLOW")))
	if err != nil {
		t.Fatal(err)
	}
	dup := func(fd uint64) error {
		copied, err := unix.Dup(int(fd))
		if err == nil {
			unix.Close(copied)
		}
		return err
	}
	results := make(chan error)
	for fd := range uint64(3) {
		go func() {
			program, err := template.Instantiate(map[string]uint64{"fd": fd})
			if err == nil {
				err = program.Install(ThisThread())
			}
			if err == nil {
				// Others run meanwhile, but not in this thread.
				time.Sleep(time.Millisecond)
				err = dup(fd)
			}
			if other := dup((fd + 1) % 3); err == nil && other != unix.EPERM {
				err = fmt.Errorf("another descriptor: %v", other)
			}
			results <- err
		}()
	}
	for range 3 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	for range 8 {
		go func() {
			runtime.LockOSThread()
			results <- errors.Join(dup(0), dup(1), dup(2))
		}()
	}
	for range 8 {
		if err := <-results; err != nil {
			t.Errorf("a thread without a filter: %v", err)
		}
	}
}

func TestInstallNamesTheThreadThatHasAnotherFilter(t *testing.T) {
	if !inChild(t) {
		return
	}
	program := compile(t, denyGetppid)
	thread, done := make(chan int), make(chan bool)
	go func() {
		if err := program.Install(ThisThread()); err != nil {
			t.Error(err)
		}
		thread <- unix.Gettid()
		<-done
	}()
	id := <-thread
	if failed := reason(t, program.Install()); failed.Reason != ReasonThread || failed.Thread != id || !errors.Is(failed, unix.ESRCH) {
		t.Errorf("%+v, not thread %d", failed, id)
	}
	_, err := compile(t, notifies).InstallListener()
	if failed := reason(t, err); failed.Reason != ReasonThread || failed.Thread != 0 || !errors.Is(err, unix.ESRCH) {
		t.Errorf("%+v", failed)
	}
	if errno := getppid(); errno != 0 {
		t.Errorf("the filter is installed: %v", errno)
	}
	close(done)
}

func TestInstallWithoutNoNewPrivs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs CAP_SYS_ADMIN")
	}
	if !inChild(t) {
		return
	}
	program := compile(t, denyGetppid)
	// Without the capability, in one thread, whose user is then another one than that of the others.
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		if _, _, errno := unix.RawSyscall(unix.SYS_SETUID, 65534, 0, 0); errno != 0 {
			result <- errno
		}
		result <- program.Install(ThisThread(), WithoutNoNewPrivs())
	}()
	err := <-result
	if failed := reason(t, err); failed.Reason != ReasonPrivileges || !errors.Is(err, unix.EACCES) {
		t.Errorf("%+v", failed)
	}
	if err := program.Install(WithoutNoNewPrivs()); err != nil {
		t.Fatal(err)
	}
	if errno := getppid(); errno != unix.EXDEV || noNewPrivs(t) != 0 {
		t.Errorf("%v, no_new_privs is %d", errno, noNewPrivs(t))
	}
}

func TestPrctlInstallsWhereSeccompIsUnknown(t *testing.T) {
	if !inChild(t) {
		return
	}
	if err := compile(t, "ERRNO(38) { seccomp } DEFAULT ALLOW").Install(ThisThread()); err != nil {
		t.Fatal(err)
	}
	program := compile(t, denyGetppid)
	// prctl(2) has no TSYNC.
	if err := program.Install(); reason(t, err).Reason != ReasonNoSeccomp || !errors.Is(err, unix.ENOSYS) {
		t.Errorf("%v", err)
	}
	if err := program.Install(ThisThread()); err != nil {
		t.Fatal(err)
	}
	if errno := getppid(); errno != unix.EXDEV {
		t.Errorf("%v", errno)
	}
}

func TestInstallRefusesAFilterThatNotifies(t *testing.T) {
	if !inChild(t) {
		return
	}
	if err := compile(t, notifies).Install(); reason(t, err).Reason != ReasonNotifies || !errors.Is(err, unix.ENOTSUP) {
		t.Errorf("without a listener, getppid would fail with ENOSYS: %v", err)
	}
	_, err := compile(t, denyGetppid).InstallListener()
	if reason(t, err).Reason != ReasonNeverNotifies || !errors.Is(err, unix.EINVAL) {
		t.Errorf("%v", err)
	}
	if errno := getppid(); errno != 0 || noNewPrivs(t) != 0 {
		t.Errorf("%v, no_new_privs is %d", errno, noNewPrivs(t))
	}
	for _, one := range []struct {
		set      Instruction
		notifies bool
	}{
		{Instruction{Code: 0x00, K: unix.SECCOMP_RET_USER_NOTIF}, true},
		{Instruction{Code: 0x00, K: unix.SECCOMP_RET_ERRNO}, false},
		{Instruction{Code: 0x01, K: unix.SECCOMP_RET_USER_NOTIF}, false},
		{Instruction{Code: 0x20, K: 16}, true},
		{Instruction{Code: 0x44, K: unix.SECCOMP_RET_USER_NOTIF}, true},
		{Instruction{Code: 0x87}, true},
	} {
		if (&Program{Instructions: []Instruction{one.set, {Code: 0x16}}}).Notifies() != one.notifies {
			t.Errorf("%+v, and A is returned: %t", one.set, !one.notifies)
		}
	}
}

func TestInstallListener(t *testing.T) {
	if !inChild(t) {
		return
	}
	program := compile(t, notifies)
	listener, err := program.InstallListener(WithWaitKillable())
	if err != nil {
		t.Fatal(err)
	}
	if flags, err := unix.FcntlInt(uintptr(listener), unix.F_GETFD, 0); err != nil || flags != unix.FD_CLOEXEC {
		t.Errorf("%d, %v", flags, err)
	}
	if _, err := program.InstallListener(ThisThread()); reason(t, err).Reason != ReasonListener || !errors.Is(err, unix.EBUSY) {
		t.Errorf("%v", err)
	}
	// Another thread notifies, and waits until the listener is closed.
	result := make(chan unix.Errno)
	go func() {
		// The runtime of Go knows that this waits.
		_, _, errno := unix.Syscall(unix.SYS_GETPPID, 0, 0, 0)
		result <- errno
	}()
	ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
	if count, err := unix.Poll(ready, 60_000); count != 1 || ready[0].Revents&unix.POLLIN == 0 {
		t.Errorf("%+v, %v", ready, err)
	}
	unix.Close(listener)
	if errno := <-result; errno != unix.ENOSYS {
		t.Errorf("%v", errno)
	}
}

// Programs that are not as they were proved are only installed by the methods whose names say so.
func TestInstallRefusesWhatIsUnproved(t *testing.T) {
	if !inChild(t) {
		return
	}
	unproved := func(name string, program *Program) {
		t.Helper()
		err := program.Install()
		if failed := reason(t, err); failed.Reason != ReasonUnproved || !strings.Contains(failed.Help, "InstallUnproved") {
			t.Errorf("%s: %v", name, err)
		}
		listener, err := program.InstallListener()
		if failed := reason(t, err); failed.Reason != ReasonUnproved || listener != -1 ||
			!strings.Contains(failed.Help, "InstallListenerUnproved") {
			t.Errorf("%s: %v", name, err)
		}
	}
	proved := compile(t, denyGetppid)
	unproved("by hand", &Program{})
	unproved("a part of one", &Program{Instructions: proved.Instructions, Arches: proved.Arches})

	// A copy shares its instructions.
	changed := *compile(t, denyGetppid)
	shared := changed
	for at := range changed.Instructions {
		if changed.Instructions[at].K == unix.SECCOMP_RET_ERRNO|uint32(unix.EXDEV) {
			changed.Instructions[at].K = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		}
	}
	unproved("changed", &changed)
	unproved("a copy of one that was changed", &shared)
	shorter := *proved
	shorter.Instructions = shorter.Instructions[1:]
	unproved("shorter", &shorter)

	text, err := json.Marshal(proved)
	if err != nil {
		t.Fatal(err)
	}
	var received Program
	if err := json.Unmarshal(text, &received); err != nil {
		t.Fatal(err)
	}
	unproved("as JSON", &received)

	best, err := Optimize(proved.Instructions)
	if err != nil || best.Optimized {
		t.Fatalf("%+v, %v", best, err)
	}
	unproved("returned as it was given", best)

	if errno := getppid(); errno != 0 || noNewPrivs(t) != 0 {
		t.Errorf("%v, no_new_privs is %d", errno, noNewPrivs(t))
	}
	if err := changed.InstallUnproved(); err != nil {
		t.Fatal(err)
	}
	if errno := getppid(); errno != unix.EPERM {
		t.Errorf("%v", errno)
	}
	notified := compile(t, notifies)
	notified.proved = nil
	listener, err := notified.InstallListenerUnproved()
	if err != nil || listener < 0 {
		t.Fatalf("%d, %v", listener, err)
	}
	unix.Close(listener)
}

// What a function of this package proved is installed.
func TestInstallTakesWhatIsProved(t *testing.T) {
	long := []Instruction{{0x20, 0, 0, 0}, {0x15, 2, 0, 39}, {0x20, 0, 0, 0}, {0x15, 0, 1, 40},
		{0x06, 0, 0, 0x7fff0000}, {0x06, 0, 0, 0}}
	optimized, err := Optimize(long)
	if err != nil || !optimized.Optimized {
		t.Fatalf("%+v, %v", optimized, err)
	}
	merged, err := Merge([]Source{Profile([]byte(denyGetppid)), Instructions(long)})
	if err != nil {
		t.Fatal(err)
	}
	template, err := CompileTemplate(Profile([]byte("ERRNO(1) { dup { fildes != $fd } } DEFAULT ALLOW")))
	if err != nil {
		t.Fatal(err)
	}
	instance, err := template.Instantiate(map[string]uint64{"fd": 3})
	if err != nil {
		t.Fatal(err)
	}
	copied := *instance
	for _, program := range []*Program{compile(t, denyGetppid), optimized, merged, instance, &copied} {
		if err := program.checkProved("InstallUnproved"); err != nil {
			t.Errorf("%v: %v", program.Instructions, err)
		}
	}
}

func TestInstallRefuses(t *testing.T) {
	allow := []Instruction{{Code: 6, K: unix.SECCOMP_RET_ALLOW}}
	kill := []Instruction{{Code: 6, K: unix.SECCOMP_RET_KILL_PROCESS}}
	if err := (&Program{Instructions: allow, Arches: []string{"m68k"}}).checkMachine(); err != nil {
		t.Errorf("a filter for others that permits what this process does: %v", err)
	}
	for _, one := range []struct {
		reason  InstallReason
		program Program
		options []InstallOption
	}{
		{ReasonLength, Program{}, nil},
		{ReasonLength, Program{Instructions: slices.Repeat(allow, 4097)}, nil},
		{ReasonArch, Program{Instructions: kill, Arches: []string{"m68k"}}, nil},
		{ReasonFlags, Program{Instructions: allow, Flags: []string{"SECCOMP_FILTER_FLAG_OTHER"}}, nil},
		{ReasonFlags, Program{Instructions: allow}, []InstallOption{WithWaitKillable()}},
		{ReasonFlags, Program{Instructions: allow, Flags: []string{waitKillable}}, nil},
	} {
		if err := one.program.InstallUnproved(one.options...); reason(t, err).Reason != one.reason || !errors.Is(err, unix.EINVAL) {
			t.Errorf("%s: %v", one.reason, err)
		}
	}
}

// The kernel's errors have a reason.
func TestKernelErrors(t *testing.T) {
	if !inChild(t) {
		return
	}
	program := Program{Instructions: []Instruction{{Code: 0xffff}}}
	if err := program.InstallUnproved(); reason(t, err).Reason != ReasonKernel || !errors.Is(err, unix.EINVAL) {
		t.Errorf("%v", err)
	}
	if unknown := unknownFlags(^uintptr(0)); len(unknown) != 0 {
		t.Errorf("this kernel does not know %v", unknown)
	}
	if knowsFlags(1<<30) || !knowsFlags(0) {
		t.Error("flags that no kernel knows, or none")
	}
	long := Program{Instructions: slices.Repeat([]Instruction{{Code: 0x00}}, 4095)}
	long.Instructions = append(long.Instructions, Instruction{Code: 6, K: unix.SECCOMP_RET_ALLOW})
	for {
		if err := long.InstallUnproved(); err != nil {
			if reason(t, err).Reason != ReasonMemory || !errors.Is(err, unix.ENOMEM) {
				t.Errorf("%v", err)
			}
			break
		}
	}
}

func TestInstallationFlags(t *testing.T) {
	const flags = `{"flags": ["SECCOMP_FILTER_FLAG_TSYNC", "SECCOMP_FILTER_FLAG_LOG"], `
	program := compile(t, strings.Replace(denyGetppid, "{", flags, 1))
	const tsync, log = unix.SECCOMP_FILTER_FLAG_TSYNC, unix.SECCOMP_FILTER_FLAG_LOG
	for _, one := range []struct {
		flags   uintptr
		options []InstallOption
	}{
		{tsync | log, nil},
		{log, []InstallOption{ThisThread()}},
		{tsync | log | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, []InstallOption{WithSpecAllow(), WithLog()}},
	} {
		if how, err := program.installation(one.options); err != nil || how.flags != one.flags {
			t.Errorf("%#x, not %#x: %v", how.flags, one.flags, err)
		}
	}
}

// A runtime gives programs to another process.
func TestProgramAsJSON(t *testing.T) {
	program := compile(t, notifies)
	// Messages are for who compiles, and who receives a program knows of no proof.
	program.Warnings, program.proved = nil, nil
	text, err := json.Marshal(program)
	if err != nil {
		t.Fatal(err)
	}
	var again Program
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(*program, again) {
		t.Errorf("%v\n%+v\n%+v", err, *program, again)
	}
}

func TestSockFilters(t *testing.T) {
	program := compile(t, denyGetppid)
	again, err := Diff(program.Source(), Instructions(FromSockFilters(program.SockFilters())))
	if err != nil || len(again) != 0 {
		t.Errorf("%v, %v", again, err)
	}
}
