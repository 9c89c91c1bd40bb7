//! Filters read out of other processes. The process that is looked at is this test once more, told by an
//! environment variable what to do; without root it is said what was not run.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use callgate::Verdict;
use callgate::bpf::{Insn, Op, Program};
use callgate_linux::{FilterFlags, budget_used, dump, install, kernel_insns};

const ROLE: &str = "CALLGATE_TEST_ROLE";

fn older() -> Program {
    Program::new(vec![
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, libc::SYS_getppid as u32, 0, 1),
        Insn::new(Op::RetK, Verdict::errno(7).0),
        // The kernel ignores the fields that a load does not use, and keeps them.
        Insn { op: Op::LdWordAbs, jt: 3, jf: 4, k: 4 },
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ])
    .unwrap()
}

fn newer() -> Program {
    Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)]).unwrap()
}

/// Kills who goes on with an interrupted call.
#[cfg(target_arch = "x86_64")]
fn without_restart() -> Program {
    Program::new(vec![
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, libc::SYS_restart_syscall as u32, 0, 1),
        Insn::new(Op::RetK, Verdict::KILL_PROCESS.0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ])
    .unwrap()
}

/// How often a sleep is ended.
#[cfg(target_arch = "x86_64")]
const WAKES: u32 = 300;

static SIGNALS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: libc::c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// What the other process does: it says which thread it is, waits for a line, and answers.
#[test]
fn other_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let mut line = String::new();
    // SAFETY: the handler touches an atomic alone; the other calls take numbers.
    unsafe {
        libc::signal(libc::SIGRTMIN(), count as *const () as libc::sighandler_t);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    if role == "named" {
        // Of the nine characters the kernel keeps seven and a half.
        // SAFETY: the kernel reads a string that ends with a zero byte.
        unsafe { libc::prctl(libc::PR_SET_NAME, c"ééééééééé".as_ptr()) };
    }
    if role != "none" {
        install(&older(), FilterFlags::NONE).unwrap();
        install(&newer(), FilterFlags::LOG).unwrap();
    }
    // SAFETY: takes nothing.
    println!("\nthread {}", unsafe { libc::gettid() });
    match role.as_str() {
        "strict" => {
            // SAFETY: takes numbers.
            unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) };
        }
        // The child of vfork keeps its parent in the kernel.
        // SAFETY: the child has memory of its own and only sleeps and ends.
        "vfork" => unsafe {
            let flags = (libc::CLONE_VFORK | libc::SIGCHLD) as libc::c_ulong;
            if libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) == 0 {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::sleep(30);
                libc::_exit(0);
            }
        },
        #[cfg(target_arch = "x86_64")]
        "sleeps" => {
            install(&without_restart(), FilterFlags::NONE).unwrap();
            std::thread::sleep(Duration::from_millis(1500));
        }
        // A signal whose handler runs ends the sleep, whenever it comes.
        #[cfg(target_arch = "x86_64")]
        "is woken" => {
            install(&without_restart(), FilterFlags::NONE).unwrap();
            let (long, nothing) = (libc::timespec { tv_sec: 30, tv_nsec: 0 }, std::ptr::null_mut());
            let mut woken = 0;
            for _ in 0..WAKES {
                // SAFETY: the kernel reads the time.
                let ended = unsafe { libc::nanosleep(&raw const long, nothing) };
                woken += u32::from(ended == -1);
                println!("woken {woken}");
            }
            SIGNALS.store(woken, Ordering::Relaxed);
        }
        _ => {}
    }
    std::io::stdin().read_line(&mut line).unwrap();
    println!("signals {}", SIGNALS.load(Ordering::Relaxed));
    std::process::exit(0);
}

struct Other {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    thread: u32,
}

impl Other {
    fn start(role: &str) -> Other {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "other_process", "--nocapture"])
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut other = Other { process, input, output, thread: 0 };
        other.thread = other.answer("thread ");
        other
    }

    fn answer(&mut self, key: &str) -> u32 {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "no {key}");
            if let Some(value) = line.trim().strip_prefix(key) {
                return value.parse().unwrap();
            }
        }
    }

    /// Lets it end; it must do so as if nobody had looked. How many signals it got.
    fn finish(mut self) -> u32 {
        self.input.write_all(b"go on\n").unwrap();
        let signals = self.answer("signals ");
        assert!(self.process.wait().unwrap().success());
        signals
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
            assert!(start.elapsed() < Duration::from_secs(10), "{}", self.state());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether this process may read filters; says so when it may not.
fn is_privileged(test: &str) -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("");
    let effective = u64::from_str_radix(field("CapEff:").trim(), 16).unwrap_or(0);
    let able = effective >> 21 & 1 == 1 && field("Seccomp:").trim() == "0";
    if !able {
        eprintln!("{test}: not run, it needs CAP_SYS_ADMIN and no filter");
    }
    able
}

#[test]
fn filters_are_read_byte_for_byte_and_nobody_is_disturbed() {
    if !is_privileged("filters_are_read_byte_for_byte_and_nobody_is_disturbed") {
        return;
    }
    let other = Other::start("two");
    for _ in 0..3 {
        let dump = dump(other.thread).unwrap();
        let [first, second] = dump.filters.as_slice() else { panic!("{dump:?}") };
        assert_eq!((&first.program, &second.program), (&older(), &newer()));
        assert_eq!((first.flags, second.flags), (Some(FilterFlags::NONE), Some(FilterFlags::LOG)));
        // The filters are those of one thread.
        assert!(dump.others.contains(&(other.process.id(), 0)), "{dump:?}");
    }
    assert!(dump(other.process.id()).unwrap().filters.is_empty());
    assert_eq!(other.finish(), 0);
}

/// A name is bytes: with half a character in it nobody hides.
#[test]
fn a_thread_is_found_under_any_name() {
    if !is_privileged("a_thread_is_found_under_any_name") {
        return;
    }
    let other = Other::start("named");
    let seen = dump(other.thread).unwrap();
    assert_eq!(seen.filters.len(), 2);
    assert_eq!(seen.name, "ééééééé\u{fffd}");
    let main = dump(other.process.id()).unwrap();
    assert!(main.others.contains(&(other.thread, 2)), "{main:?}");
    other.finish();
}

#[test]
fn a_stopped_process_stays_stopped() {
    if !is_privileged("a_stopped_process_stays_stopped") {
        return;
    }
    let other = Other::start("two");
    let signal = |signal| {
        // SAFETY: the process is a child that nobody waited for.
        unsafe { libc::kill(other.process.id() as i32, signal) }
    };
    signal(libc::SIGSTOP);
    other.await_state('T');
    assert_eq!(dump(other.thread).unwrap().filters.len(), 2);
    other.await_state('T');
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(other.state(), 'T');
    signal(libc::SIGCONT);
    other.finish();
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_sleep_goes_on_whose_continuation_the_filter_denies() {
    if !is_privileged("a_sleep_goes_on_whose_continuation_the_filter_denies") {
        return;
    }
    let other = Other::start("sleeps");
    let start = Instant::now();
    let mut interrupted = 0;
    while start.elapsed() < Duration::from_secs(1) {
        let asleep = other.state() == 'S';
        let filters = dump(other.thread).unwrap().filters;
        interrupted += u32::from(asleep && filters.len() == 3);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(interrupted > 0);
    assert_eq!(other.finish(), 0);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_signal_ends_a_sleep_also_while_the_filters_are_read() {
    if !is_privileged("a_signal_ends_a_sleep_also_while_the_filters_are_read") {
        return;
    }
    let mut other = Other::start("is woken");
    let (process, thread) = (other.process.id() as i32, other.thread as i32);
    let reader = std::thread::spawn(move || while dump(thread as u32).is_ok() {});
    for _ in 0..WAKES {
        // It sleeps, or has just been stopped.
        other.await_state('S');
        // SAFETY: takes numbers; the thread lives until it has all signals.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGRTMIN()) };
        other.answer("woken ");
    }
    assert_eq!(other.finish(), WAKES);
    reader.join().unwrap();
}

#[test]
fn no_signal_is_lost() {
    const SIGNALS: u32 = 2000;
    if !is_privileged("no_signal_is_lost") {
        return;
    }
    let other = Other::start("two");
    let (process, thread) = (other.process.id() as i32, other.thread as i32);
    let sender = std::thread::spawn(move || {
        for _ in 0..SIGNALS {
            // SAFETY: takes numbers; the thread lives until it is told to end, and a real-time signal is queued.
            while unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGRTMIN()) } != 0
            {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_micros(20));
        }
    });
    let mut dumps = 0;
    while !sender.is_finished() {
        assert_eq!(dump(other.thread).unwrap().filters.len(), 2);
        dumps += 1;
    }
    sender.join().unwrap();
    assert!(dumps > 10, "{dumps}");
    assert_eq!(other.finish(), SIGNALS);
}

#[test]
fn who_cannot_be_looked_at_is_told() {
    let message = |tid| dump(tid).unwrap_err().to_string();
    assert!(message(u32::MAX).contains("no such process"));
    assert!(message(1 << 30).contains("no such process"));
    assert!(message(std::process::id()).contains("callgate itself"));
    let kernel = std::fs::read_to_string("/proc/2/status").unwrap_or_default();
    if kernel.contains("kthreadd") {
        assert!(message(2).contains("thread of the kernel"));
    } else {
        eprintln!("threads of the kernel: not tried, none is to be seen");
    }

    let mut zombie = Command::new("true").spawn().unwrap();
    let start = Instant::now();
    while !message_or_empty(zombie.id()).contains("zombie") {
        assert!(start.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(1));
    }
    zombie.wait().unwrap();

    let other = Other::start("none");
    assert!(
        dump(other.thread).unwrap().filters.is_empty(),
        "a process without filters is no error"
    );
    other.finish();
}

fn message_or_empty(tid: u32) -> String {
    dump(tid).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn a_tracer_is_named() {
    let other = Other::start("two");
    let thread = other.thread;
    let text = std::thread::spawn(move || {
        let nothing = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: SEIZE takes numbers. What is traced goes on when this thread ends.
        let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, thread as i32, nothing, nothing) };
        (seized == 0).then(|| dump(thread).unwrap_err().to_string())
    });
    let Some(text) = text.join().unwrap() else {
        return eprintln!("a_tracer_is_named: not run, tracing is not permitted here");
    };
    assert!(text.starts_with("it is traced by process "), "{text}");
    other.finish();
}

#[test]
fn a_thread_that_does_not_stop_is_left_alone() {
    let other = Other::start("vfork");
    other.await_state('D');
    let start = Instant::now();
    let Err(error) = dump(other.thread) else { panic!("it should not stop") };
    if start.elapsed() < Duration::from_secs(1) {
        return eprintln!("not run: {error}");
    }
    assert!(error.to_string().contains("state D"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(10));
    let status = std::fs::read_to_string(format!("/proc/{}/status", other.thread)).unwrap();
    assert!(status.contains("TracerPid:\t0"), "{status}");
}

#[test]
fn without_privilege_the_reason_is_given() {
    let other = Other::start("two");
    let thread = other.thread;
    let error = std::thread::spawn(move || {
        install(&newer(), FilterFlags::NONE).unwrap();
        dump(thread).unwrap_err()
    });
    let error = error.join().unwrap();
    assert!(error.to_string().contains("this process has a filter itself"), "{error}");
    if !is_privileged("(what an unprivileged user sees was checked)") {
        let error = dump(thread).unwrap_err().to_string();
        assert!(error.contains("CAP_SYS_ADMIN") || error.contains("permission denied"), "{error}");
    }
    other.finish();
}

/// As many filters as fit by our count are accepted, and not one more.
#[test]
fn the_budget_is_counted_as_the_kernel_counts() {
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
}
