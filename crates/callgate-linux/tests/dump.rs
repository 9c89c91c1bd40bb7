//! Filters that are read from other processes. The other process is this test binary again, started with an
//! environment variable that says what to do.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use callgate::Verdict;
use callgate::bpf::{Insn, Op, Program};
use callgate_linux::{
    FilterFlags, SeccompMode, ThreadStatus, budget_used, dump, install, kernel_insns,
};
use callgate_testing::{Need, Skip, TestResult};

/// What the other process does.
const ROLE: &str = "CALLGATE_TEST_ROLE";

/// How long anything may take. A machine with nothing else to do needs milliseconds.
const LIMIT: Duration = Duration::from_secs(60);

/// The errno that the filters of the other process give.
const DENIED: u16 = 7;

/// `syscall` gets the verdict; the others are allowed.
fn except(syscall: libc::c_long, verdict: Verdict) -> Program {
    Program::new(vec![
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, syscall as u32, 0, 1),
        Insn::new(Op::RetK, verdict.0),
        // The kernel ignores the fields that a load does not use, and keeps them.
        Insn { op: Op::LdWordAbs, jt: 3, jf: 4, k: 4 },
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ])
    .unwrap()
}

fn older() -> Program {
    except(libc::SYS_getppid, Verdict::errno(DENIED))
}

fn newer() -> Program {
    Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)]).unwrap()
}

fn main() -> ExitCode {
    if let Ok(role) = std::env::var(ROLE) {
        return other_process(&role);
    }
    let mut tests = callgate_testing::trials![
        filters_are_read_byte_for_byte_and_the_thread_continues,
        a_thread_is_found_under_any_name,
        a_stopped_process_stays_stopped,
        no_signal_is_lost,
        threads_whose_filters_cannot_be_read_are_refused_with_the_reason,
        the_error_names_the_tracer,
        a_thread_that_does_not_stop_is_left_alone,
        a_process_with_a_filter_cannot_read_filters,
        a_process_without_privilege_cannot_read_filters,
        a_tracer_that_ends_at_a_syscall_stop_delivers_no_signal,
        the_budget_is_counted_as_the_kernel_counts,
    ];
    #[cfg(target_arch = "x86_64")]
    tests.extend(callgate_testing::trials![
        a_nanosleep_keeps_its_time_while_filters_are_read,
        a_poll_keeps_its_time_while_filters_are_read,
        a_sleep_keeps_its_time_while_ignored_signals_arrive,
        a_signal_ends_a_sleep_while_filters_are_read,
    ]);
    callgate_testing::run(tests)
}

static SIGNALS: AtomicU32 = AtomicU32::new(0);
static UNFILTERED: AtomicU32 = AtomicU32::new(0);

/// The errno of a syscall without arguments.
fn errno_of(syscall: libc::c_long) -> i32 {
    // SAFETY: `getppid` and `restart_syscall` take nothing and touch no memory.
    match unsafe { libc::syscall(syscall) } {
        -1 => std::io::Error::last_os_error().raw_os_error().unwrap_or(0),
        _ => 0,
    }
}

extern "C" fn handle_signal(_: libc::c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the pointer to this thread's errno is valid.
    let errno = unsafe { *libc::__errno_location() };
    if errno_of(libc::SYS_getppid) == 0 {
        UNFILTERED.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// The other process: prints the number of its thread, does what the role says, waits for a line, and prints how
/// many signals it handled.
fn other_process(role: &str) -> ExitCode {
    // SAFETY: the handler only uses atomics, errno and `getppid`; the other calls take numbers.
    unsafe {
        libc::signal(libc::SIGRTMIN(), handle_signal as *const () as libc::sighandler_t);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    let answers = std::thread::spawn({
        let role = role.to_owned();
        move || filtered_thread(&role)
    });
    answers.join().unwrap();
    ExitCode::SUCCESS
}

fn filtered_thread(role: &str) {
    if role == "named" {
        // The kernel keeps seven and a half of the nine characters.
        // SAFETY: the kernel reads a string that ends with a zero byte.
        unsafe { libc::prctl(libc::PR_SET_NAME, c"ééééééééé".as_ptr()) };
    }
    if role != "none" {
        install(&older(), FilterFlags::NONE).unwrap();
        install(&newer(), FilterFlags::LOG).unwrap();
    }
    #[cfg(target_arch = "x86_64")]
    match role {
        "nanosleep" | "poll" => {
            let kill = except(libc::SYS_restart_syscall, Verdict::KILL_PROCESS);
            install(&kill, FilterFlags::NONE).unwrap();
        }
        "nanosleep, errno" | "is woken" => {
            let deny = except(libc::SYS_restart_syscall, Verdict::errno(DENIED));
            install(&deny, FilterFlags::NONE).unwrap();
        }
        _ => {}
    }
    // SAFETY: takes nothing.
    println!("thread {}", unsafe { libc::gettid() });
    match role {
        // The child of vfork keeps its parent in the kernel.
        // SAFETY: the child has memory of its own, and only sleeps and ends.
        "vfork" => unsafe {
            let flags = (libc::CLONE_VFORK | libc::SIGCHLD) as libc::c_ulong;
            if libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) == 0 {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::sleep(30);
                libc::_exit(0);
            }
        },
        #[cfg(target_arch = "x86_64")]
        "nanosleep" | "nanosleep, errno" | "poll" => {
            let start = Instant::now();
            let errno = if role == "poll" { poll(SLEEP) } else { nanosleep(SLEEP) };
            println!("slept {} {errno}", start.elapsed().as_millis());
            println!("denied {}", errno_of(libc::SYS_getppid));
        }
        #[cfg(target_arch = "x86_64")]
        "is woken" => {
            for number in 1..=WAKES {
                println!("woken {number} {}", nanosleep(LIMIT * 2));
            }
        }
        _ => {}
    }
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    assert_eq!(
        UNFILTERED.load(Ordering::Relaxed),
        0,
        "syscalls of signal handlers were not filtered"
    );
    println!("signals {}", SIGNALS.load(Ordering::Relaxed));
}

/// The errno, 0 for none.
#[cfg(target_arch = "x86_64")]
fn nanosleep(time: Duration) -> i32 {
    let time = libc::timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos().into() };
    let nothing = std::ptr::null_mut();
    // SAFETY: the kernel reads the time.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &raw const time, nothing) }
}

/// The errno, 0 for none.
#[cfg(target_arch = "x86_64")]
fn poll(time: Duration) -> i32 {
    // SAFETY: there are no descriptors.
    match unsafe { libc::poll(std::ptr::null_mut(), 0, time.as_millis() as libc::c_int) } {
        -1 => std::io::Error::last_os_error().raw_os_error().unwrap_or(0),
        _ => 0,
    }
}

struct Other {
    process: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    thread: u32,
}

impl Other {
    fn start(role: &str) -> Other {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        let mut other = Other { process, input, lines, thread: 0 };
        other.thread = other.answer("thread ").parse().unwrap();
        other
    }

    /// The rest of the next line, which begins with `key`.
    fn answer(&self, key: &str) -> String {
        self.answer_within(key, LIMIT)
            .unwrap_or_else(|| panic!("no line \"{key}…\" within {LIMIT:?}"))
    }

    /// `None` if there is no line within this time.
    fn answer_within(&self, key: &str, time: Duration) -> Option<String> {
        match self.lines.recv_timeout(time) {
            Ok(line) => {
                let value = line.strip_prefix(key);
                Some(value.unwrap_or_else(|| panic!("{line}; expected {key}")).to_owned())
            }
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("it ended; expected {key}"),
        }
    }

    /// Tells it to end, which it must do successfully. Returns how many signals it handled.
    fn finish(mut self) -> u32 {
        self.tell_to_end();
        self.finished()
    }

    fn tell_to_end(&mut self) {
        self.input.write_all(b"end\n").unwrap();
    }

    fn finished(mut self) -> u32 {
        let signals = self.answer("signals ").parse().unwrap();
        let start = Instant::now();
        loop {
            match self.process.try_wait().unwrap() {
                Some(status) => {
                    assert!(status.success(), "{status}");
                    return signals;
                }
                None => assert!(start.elapsed() < LIMIT, "it did not end within {LIMIT:?}"),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn send(&self, signal: libc::c_int) -> bool {
        send(self.process.id(), self.thread, signal)
    }

    fn state(&self) -> char {
        let status = std::fs::read(format!("/proc/{}/status", self.thread)).unwrap();
        let status = String::from_utf8_lossy(&status);
        let state = status.lines().find_map(|line| line.strip_prefix("State:\t"));
        state.unwrap().chars().next().unwrap()
    }

    fn await_state(&self, state: char) {
        let start = Instant::now();
        while self.state() != state {
            let now = self.state();
            assert!(start.elapsed() < LIMIT, "state {now} instead of {state} for {LIMIT:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Sends a signal to a thread of a child process that was not waited for.
fn send(process: u32, thread: u32, signal: libc::c_int) -> bool {
    // SAFETY: takes numbers.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) == 0 }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Skips the test unless this process may read filters.
fn may_read_filters() -> TestResult {
    let own = ThreadStatus::of_this_thread().ok_or(Skip::new(Need::Proc, "no /proc"))?;
    let missing = if own.mode == SeccompMode::Filter {
        "a process without filters"
    } else if own.capabilities.is_some_and(|set| set >> 21 & 1 == 0) {
        "CAP_SYS_ADMIN"
    } else {
        return Ok(());
    };
    Err(Skip::new(Need::Root, missing))
}

fn filters_are_read_byte_for_byte_and_the_thread_continues() -> TestResult {
    may_read_filters()?;
    let other = Other::start("two");
    for _ in 0..3 {
        let dump = dump(other.thread).unwrap();
        let [first, second] = dump.filters.as_slice() else { panic!("{dump:?}") };
        assert_eq!((&first.program, &second.program), (&older(), &newer()));
        assert_eq!((first.flags, second.flags), (Some(FilterFlags::NONE), Some(FilterFlags::LOG)));
        // The main thread has no filters.
        assert!(dump.others.contains(&(other.process.id(), 0)), "{dump:?}");
    }
    assert!(dump(other.process.id()).unwrap().filters.is_empty());
    assert_eq!(other.finish(), 0);
    Ok(())
}

/// Half a character in its name does not hide a thread.
fn a_thread_is_found_under_any_name() -> TestResult {
    may_read_filters()?;
    let other = Other::start("named");
    let seen = dump(other.thread).unwrap();
    assert_eq!(seen.filters.len(), 2);
    assert_eq!(seen.name, "ééééééé\u{fffd}");
    let main = dump(other.process.id()).unwrap();
    assert!(main.others.contains(&(other.thread, 2)), "{main:?}");
    other.finish();
    Ok(())
}

fn a_stopped_process_stays_stopped() -> TestResult {
    may_read_filters()?;
    let other = Other::start("two");
    assert!(other.send(libc::SIGSTOP));
    other.await_state('T');
    for _ in 0..10 {
        assert_eq!(dump(other.thread).unwrap().filters.len(), 2);
        other.await_state('T');
    }
    assert!(other.send(libc::SIGCONT));
    other.finish();
    Ok(())
}

/// How long the other process sleeps.
#[cfg(target_arch = "x86_64")]
const SLEEP: Duration = Duration::from_millis(700);

/// Reads filters of a thread again and again while it sleeps. Returns the errno of the sleep.
#[cfg(target_arch = "x86_64")]
fn dump_while_asleep(role: &str, also: impl Fn(&Other)) -> i32 {
    let other = Other::start(role);
    let start = Instant::now();
    let answer = loop {
        assert_eq!(dump(other.thread).unwrap().filters.len(), 3);
        also(&other);
        if let Some(answer) = other.answer_within("slept ", Duration::from_millis(5)) {
            break answer;
        }
        // A sleep that starts again at each dump would never end.
        assert!(start.elapsed() < LIMIT, "{role}: {SLEEP:?} did not end within {LIMIT:?}");
    };
    let (slept, errno) = answer.split_once(' ').unwrap();
    let slept = Duration::from_millis(slept.parse().unwrap());
    let errno = errno.parse().unwrap();
    assert!(errno != 0 || slept >= SLEEP, "{role}: {slept:?}");
    // The filters are in force again.
    assert_eq!(other.answer("denied "), DENIED.to_string());
    other.finish();
    errno
}

#[cfg(target_arch = "x86_64")]
fn a_nanosleep_keeps_its_time_while_filters_are_read() -> TestResult {
    may_read_filters()?;
    assert_eq!(dump_while_asleep("nanosleep", |_| ()), 0);
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn a_poll_keeps_its_time_while_filters_are_read() -> TestResult {
    may_read_filters()?;
    assert_eq!(dump_while_asleep("poll", |_| ()), 0);
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn a_sleep_keeps_its_time_while_ignored_signals_arrive() -> TestResult {
    may_read_filters()?;
    // A signal may still arrive in the moment between the last look and the end of the tracer.
    let errno = dump_while_asleep("nanosleep, errno", |other| assert!(other.send(libc::SIGURG)));
    assert!(errno == 0 || errno == i32::from(DENIED), "{errno}");
    Ok(())
}

/// Ends a thread also if the test fails.
#[cfg(target_arch = "x86_64")]
struct SetOnDrop<'a>(&'a AtomicBool);

#[cfg(target_arch = "x86_64")]
impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How often a sleep is ended.
#[cfg(target_arch = "x86_64")]
const WAKES: u32 = 100;

#[cfg(target_arch = "x86_64")]
fn a_signal_ends_a_sleep_while_filters_are_read() -> TestResult {
    may_read_filters()?;
    let other = Other::start("is woken");
    let (thread, is_over) = (other.thread, AtomicBool::new(false));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(dump(thread).unwrap().filters.len(), 3);
            }
        });
        let _end = SetOnDrop(&is_over);
        let start = Instant::now();
        for number in 1..=WAKES {
            let answer = loop {
                assert!(other.send(libc::SIGRTMIN()));
                // If the handler ran before the sleep began, the sleep needs another signal.
                let wait = Duration::from_millis(50);
                if let Some(answer) = other.answer_within("woken ", wait) {
                    break answer;
                }
                assert!(!reader.is_finished(), "the reader failed");
                assert!(start.elapsed() < LIMIT, "{number} of {WAKES} sleeps within {LIMIT:?}");
            };
            assert_eq!(answer, format!("{number} {}", libc::EINTR));
        }
    });
    assert!(other.finish() >= WAKES);
    Ok(())
}

fn no_signal_is_lost() -> TestResult {
    const SIGNALS: u32 = 2000;
    may_read_filters()?;
    let other = Other::start("two");
    let (process, thread) = (other.process.id(), other.thread);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let start = Instant::now();
            for number in 1..=SIGNALS {
                // A real-time signal is queued while there is room.
                while !send(process, thread, libc::SIGRTMIN()) {
                    assert!(start.elapsed() < LIMIT, "signal {number} of {SIGNALS}: queue is full");
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_micros(20));
            }
        });
        while !sender.is_finished() {
            assert_eq!(dump(other.thread).unwrap().filters.len(), 2);
        }
    });
    assert_eq!(other.finish(), SIGNALS);
    Ok(())
}

fn message(tid: u32) -> String {
    dump(tid).unwrap_err().to_string()
}

fn threads_whose_filters_cannot_be_read_are_refused_with_the_reason() -> TestResult {
    for missing in [u32::MAX, 1 << 30] {
        assert!(message(missing).contains("no such process"));
    }
    assert!(message(std::process::id()).contains("callgate itself"));

    let mut zombie = Command::new("true").spawn().unwrap();
    let start = Instant::now();
    while !dump(zombie.id()).is_err_and(|error| error.to_string().contains("zombie")) {
        assert!(start.elapsed() < LIMIT, "`true` is not a zombie within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    zombie.wait().unwrap();

    // A process without filters is not an error.
    let other = Other::start("none");
    assert!(dump(other.thread).unwrap().filters.is_empty());
    other.finish();

    let kernel = std::fs::read_to_string("/proc/2/status").unwrap_or_default();
    if !kernel.contains("kthreadd") {
        return Err(Skip::new(Need::Proc, "the threads of the kernel are not visible"));
    }
    assert!(message(2).contains("kernel thread"));
    Ok(())
}

fn the_error_names_the_tracer() -> TestResult {
    may_read_filters()?;
    let other = Other::start("two");
    let thread = other.thread;
    let text = std::thread::spawn(move || {
        seize(thread)?;
        Ok(message(thread))
    });
    let text = text.join().unwrap()?;
    assert!(text.contains("already traced by process "), "{text}");
    other.finish();
    Ok(())
}

/// Traces a thread until the calling thread ends.
fn seize(thread: u32) -> TestResult {
    request(libc::PTRACE_SEIZE, thread, libc::PTRACE_O_TRACESYSGOOD as usize)
        .map_err(|why| Skip::new(Need::Ptrace, why))
}

fn request(
    request: callgate_linux::sys::PtraceRequest,
    thread: u32,
    data: usize,
) -> std::io::Result<()> {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: SEIZE, INTERRUPT and SYSCALL take numbers.
    let result = unsafe { libc::ptrace(request, thread as libc::pid_t, nothing, data) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The signal with which a traced thread stops.
fn await_stop(thread: u32) -> libc::c_int {
    let start = Instant::now();
    let mut status = 0;
    // SAFETY: `status` is valid for writes.
    while unsafe {
        libc::waitpid(thread as libc::pid_t, &raw mut status, libc::__WALL | libc::WNOHANG)
    } == 0
    {
        assert!(start.elapsed() < LIMIT, "no stop within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(libc::WIFSTOPPED(status), "{status:#x}");
    libc::WSTOPSIG(status)
}

/// The reader of filters relies on this.
fn a_tracer_that_ends_at_a_syscall_stop_delivers_no_signal() -> TestResult {
    // The start and the end of the `read` that waits for a line.
    for stops in [1, 2] {
        let mut other = Other::start("none");
        other.await_state('S');
        let thread = other.thread;
        let (at_start, is_at_start) = mpsc::channel();
        let tracer = std::thread::spawn(move || {
            seize(thread)?;
            request(libc::PTRACE_INTERRUPT, thread, 0).unwrap();
            assert_eq!(await_stop(thread), libc::SIGTRAP);
            for stop in 1..=stops {
                request(libc::PTRACE_SYSCALL, thread, 0).unwrap();
                if stop == 2 {
                    at_start.send(()).unwrap();
                }
                assert_eq!(await_stop(thread), libc::SIGTRAP | 0x80);
            }
            Ok(())
        });
        if is_at_start.recv_timeout(LIMIT).is_ok() {
            // Ends the read.
            other.tell_to_end();
            tracer.join().unwrap()?;
        } else {
            tracer.join().unwrap()?;
            other.tell_to_end();
        }
        assert_eq!(other.finished(), 0);
    }
    Ok(())
}

fn a_thread_that_does_not_stop_is_left_alone() -> TestResult {
    may_read_filters()?;
    let other = Other::start("vfork");
    other.await_state('D');
    let error = message(other.thread);
    assert!(error.contains("state D"), "{error}");
    // The kernel detaches the tracer when the thread that read has ended, and `join` waits for that.
    assert_eq!(ThreadStatus::of(other.thread).unwrap().tracer, 0);
    Ok(())
}

fn a_process_with_a_filter_cannot_read_filters() -> TestResult {
    let other = Other::start("two");
    let thread = other.thread;
    let error = std::thread::spawn(move || {
        install(&newer(), FilterFlags::NONE).unwrap();
        message(thread)
    });
    let error = error.join().unwrap();
    assert!(error.contains("callgate itself runs under a filter"), "{error}");
    other.finish();
    Ok(())
}

fn a_process_without_privilege_cannot_read_filters() -> TestResult {
    let other = Other::start("two");
    let thread = other.thread;
    let error = std::thread::spawn(move || {
        // Affects only this thread. It fails without privilege, which does not matter.
        // SAFETY: takes numbers.
        unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) };
        message(thread)
    });
    let error = error.join().unwrap();
    assert!(error.contains("CAP_SYS_ADMIN"), "{error}");
    other.finish();
    Ok(())
}

/// The kernel accepts as many filters as fit by our count, and not one more.
fn the_budget_is_counted_as_the_kernel_counts() -> TestResult {
    let insn = Insn::new;
    let ld = insn(Op::LdWordAbs, 0);
    let programs: [&[Insn]; 6] = [
        &[],
        // A branch to the next instruction, the other way round, and two far sides.
        &[ld, Insn::branch(Op::JeqK, 1, 1, 0), Insn::branch(Op::JgtK, 2, 0, 1), insn(Op::Neg, 0)],
        &[Insn::branch(Op::JgeK, 1, 1, 2), insn(Op::LdImm, 1), insn(Op::LdxImm, 1)],
        &[Insn::branch(Op::JsetK, 1, 0, 1), Insn::branch(Op::JsetK, 1, 1, 0), ld],
        // Constants that are negative, and comparisons with X.
        &[Insn::branch(Op::JeqK, 1 << 31, 0, 1), Insn::branch(Op::JgtX, 9, 0, 1), insn(Op::Tax, 0)],
        // A division, a length, scratch words.
        &[insn(Op::LdxLen, 0), insn(Op::DivX, 0), insn(Op::St, 1), insn(Op::LdxMem, 1), ld],
    ];
    for body in programs {
        let mut code = vec![ld; 1200];
        for insns in code.chunks_exact_mut(body.len().max(1)).take(100) {
            insns[..body.len()].copy_from_slice(body);
        }
        let allow = Verdict::ALLOW.0;
        code.push(insn(Op::LdImm, allow));
        code.push(Insn::branch(Op::JeqK, allow, 0, 1));
        code.extend([insn(Op::RetA, 0), insn(Op::RetK, allow)]);
        let program = Program::new(code).unwrap();
        let insns = kernel_insns(&program);
        let fit = (1..).find(|n| budget_used(vec![insns; n + 1]) > 32_768).unwrap();
        let installed = std::thread::spawn(move || {
            (0..).take_while(|_| install(&program, FilterFlags::NONE).is_ok()).count()
        });
        assert_eq!(installed.join().unwrap(), fit, "{body:?}: {insns}");
    }
    Ok(())
}
