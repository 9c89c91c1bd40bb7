//! A program that makes syscalls in all situations that a recorder may miss. Each part makes a syscall that no other part
//! makes, a known number of times, which the test (`record.rs`) expects.
//!
//! The argument selects what it does:
//!
//! - `leaf`: three syscalls. `many`: one each of 40 different ones. `last`: another one.
//! - `renamed`: changes the string with the path by which it was executed, and starts children. `renames`: changes it
//!   continuously.
//! - `exit N`, `kill N`: ends with this status or signal. `stop`: stops until it gets SIGCONT.
//! - `untraced`: starts a child that no tracer gets.
//! - `numbers`: 600 syscalls that do not exist.
//! - `interrupted`, `interrupted-under-a-filter`: receives many signals; exits with 1 if they have a wrong effect.
//! - `installs`: installs filters.
//! - `listener`: exits with 1 if it gets no listener.
//! - `left-behind`: leaves a process running. `sleep`: sleeps.

#![allow(missing_docs)]

use std::ffi::{CString, c_int, c_long, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use libc::sock_filter;

fn main() {
    // Tests execute it by paths that are not UTF-8.
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    let number = || words.get(2).and_then(|word| word.parse::<i32>().ok()).unwrap_or(0);
    match words.get(1).map(String::as_str) {
        Some("leaf") => times(3, libc::SYS_getegid),
        Some("many") => (0..40).for_each(|nr| times(1, 10_000 + nr)),
        Some("renamed") => renamed(),
        Some("renames") => renames(),
        Some("installs") => installs(),
        Some("last") => times(1, 11_000),
        Some("exit") => std::process::exit(number()),
        Some("kill") => kill_self(number()),
        Some("stop") => kill_self(libc::SIGSTOP),
        Some("untraced") => untraced().wait(),
        Some("interrupted") => interrupted(),
        Some("interrupted-under-a-filter") => {
            install(&one_syscall(libc::SYS_geteuid, libc::SECCOMP_RET_ERRNO | 1), 0);
            interrupted();
        }
        Some("listener") => listener(),
        Some("sleep") => std::thread::sleep(Duration::from_secs(30)),
        Some("left-behind") => child(|| {
            // SAFETY: takes nothing.
            unsafe { libc::setsid() };
            std::thread::sleep(Duration::from_millis(100));
            times(2, libc::SYS_getegid);
        })
        .forget(),
        Some("numbers") => (0..600).for_each(|nr| times(1, 10_000 + nr)),
        _ => everything(),
    }
}

/// The path by which this process was executed, in its memory.
fn own_path() -> *mut u8 {
    // SAFETY: takes a number.
    unsafe { libc::getauxval(libc::AT_EXECFN) as *mut u8 }
}

/// Threads and processes that get another path in their memory. Some stop before their parent reports them.
fn renamed() {
    // SAFETY: the string is on the stack, and not empty.
    unsafe { own_path().write_volatile(b'X') };
    for _ in 0..50 {
        child(|| times(3, libc::SYS_getegid)).wait();
    }
    let threads: Vec<_> =
        (0..4).map(|_| std::thread::spawn(|| times(100, libc::SYS_getgid))).collect();
    threads.into_iter().for_each(|thread| drop(thread.join()));
}

/// Several threads, so that one runs while the recorder does.
fn renames() {
    for _ in 0..3 {
        std::thread::spawn(rename_continuously);
    }
    println!("ready");
    rename_continuously();
}

fn rename_continuously() {
    for number in 0_u32.. {
        for digit in 0..8 {
            let letter = b'a' + (number >> (4 * digit) & 0xf) as u8;
            // SAFETY: the string is on the stack, and longer.
            unsafe { own_path().add(digit).write_volatile(letter) };
        }
    }
}

fn everything() {
    values();
    threads();
    signals();
    children();
    vforks();
    child(exec_by_a_thread).wait();
    child(|| kill_self(libc::SIGKILL)).wait();
    stop_and_continue();
    times(1, 999);
    other_interfaces();
    child(own_filter).wait();
    child(filter_that_kills_a_thread).wait();
    child(filter_for_all_threads).wait();
}

/// Makes a syscall without arguments this often.
fn times(count: usize, nr: c_long) {
    for _ in 0..count {
        // SAFETY: these syscalls take no arguments or do not exist.
        unsafe { libc::syscall(nr) };
    }
}

/// Few values of one argument and many of another; the descriptor is invalid.
fn values() {
    for value in 0..40_u64 {
        // SAFETY: fails without a descriptor; takes numbers.
        unsafe { libc::syscall(libc::SYS_lseek, -1_i64, (value << 8 | 1) as c_long, value % 3) };
    }
}

fn kill_self(signal: c_int) {
    // SAFETY: takes numbers.
    unsafe { libc::kill(libc::getpid(), signal) };
}

fn threads() {
    let threads: Vec<_> =
        (0..4).map(|_| std::thread::spawn(|| times(100, libc::SYS_getppid))).collect();
    threads.into_iter().for_each(|thread| drop(thread.join()));
}

fn signals() {
    extern "C" fn handle(_: c_int) {
        times(1, libc::SYS_getuid);
    }
    // SAFETY: the handler is async-signal-safe.
    unsafe {
        libc::signal(libc::SIGUSR1, handle as extern "C" fn(c_int) as libc::sighandler_t);
        for _ in 0..50 {
            libc::raise(libc::SIGUSR1);
        }
    }
}

/// Handlers without SA_RESTART run continuously: a syscall that blocks fails with EINTR, all others do not.
fn interrupted() {
    const TIMES: usize = 2_000;
    static WORD: AtomicI32 = AtomicI32::new(0);
    let (mut byte, mut ends) = (0_u8, [0; 2]);
    let buffer = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: the path is a string, and the kernel returned the descriptors.
    let file = unsafe {
        libc::pipe(ends.as_mut_ptr());
        libc::fcntl(ends[0], libc::F_SETFL, libc::O_NONBLOCK);
        libc::open(c"/proc/self/exe".as_ptr(), libc::O_RDONLY)
    };
    let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: numbers, or addresses that are valid until the syscalls return.
    let syscalls: [(&dyn Fn() -> c_long, c_long, c_int); 6] = unsafe {
        [
            (&|| libc::getpgid(0).min(0).into(), 0, 0),
            (&|| libc::preadv(file, &raw const buffer, 1, 0) as c_long, 1, 0),
            (&|| libc::syscall(libc::SYS_futex, WORD.as_ptr(), wake, 1), 0, 0),
            (
                &|| libc::waitid(libc::P_ALL, 0, null_mut(), libc::WNOHANG | libc::WEXITED).into(),
                -1,
                libc::ECHILD,
            ),
            (&|| libc::openat(-1, c"missing".as_ptr(), libc::O_RDONLY).into(), -1, libc::EBADF),
            (&|| libc::readv(ends[0], &raw const buffer, 1) as c_long, -1, libc::EAGAIN),
        ]
    };
    timer(1_500);
    let mut failed = 0;
    for (syscall, result, errno) in syscalls {
        for _ in 0..TIMES {
            let is = syscall();
            let why = std::io::Error::last_os_error().raw_os_error();
            failed += c_int::from(is != result || is == -1 && why != Some(errno));
        }
    }
    // SAFETY: as above.
    unsafe {
        libc::fcntl(ends[0], libc::F_SETFL, 0);
        for _ in 0..100 {
            let is = libc::readv(ends[0], &raw const buffer, 1);
            let why = std::io::Error::last_os_error().kind();
            failed += c_int::from(is != -1 || why != std::io::ErrorKind::Interrupted);
        }
    }
    std::process::exit(c_int::from(failed != 0));
}

/// Starts timers for two signals with this period, whose handlers do nothing and have no SA_RESTART.
fn timer(microseconds: i64) {
    extern "C" fn handle(_: c_int) {}
    // SAFETY: an action of zeros is valid, and its handler does nothing; an event of zeros is valid; the kernel
    // reads the times and writes the timer.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as extern "C" fn(c_int) as libc::sighandler_t;
        for (signal, nanoseconds) in
            [(libc::SIGALRM, microseconds * 1_000), (libc::SIGUSR2, microseconds * 1_300)]
        {
            libc::sigaction(signal, &raw const action, null_mut());
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_SIGNAL;
            event.sigev_signo = signal;
            let mut timer: libc::timer_t = null_mut();
            libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer);
            let time = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds };
            let times = libc::itimerspec { it_interval: time, it_value: time };
            libc::timer_settime(timer, 0, &raw const times, null_mut());
        }
    }
}

fn listener() {
    let allow = [sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }];
    let program = libc::sock_fprog { len: 1, filter: allow.as_ptr().cast_mut() };
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // SAFETY: the program lives until the syscalls return.
    let fd = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    std::process::exit(c_int::from(fd == -1));
}

struct Child(c_int);

impl Child {
    fn wait(self) {
        // SAFETY: takes numbers; the status pointer is null.
        unsafe { libc::waitpid(self.0, null_mut(), 0) };
    }

    fn forget(self) {}
}

/// Starts a process that runs `does` and ends.
fn child(does: fn()) -> Child {
    // SAFETY: there are no other threads while children are created.
    match unsafe { libc::fork() } {
        0 => {
            does();
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) }
        }
        pid => Child(pid),
    }
}

fn untraced() -> Child {
    let flags = (libc::CLONE_UNTRACED | libc::SIGCHLD) as c_long;
    // SAFETY: as fork(2), there are no other threads.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        0 => {
            times(3, libc::SYS_getgid);
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) }
        }
        pid => Child(pid as c_int),
    }
}

fn children() {
    for _ in 0..20 {
        child(|| times(10, libc::SYS_getgid)).wait();
    }
}

/// Executes this program as a leaf. Does not return.
fn execute_leaf() {
    let program = CString::new("/proc/self/exe").unwrap();
    let argv = [program.as_ptr(), c"leaf".as_ptr(), std::ptr::null()];
    // SAFETY: the strings live until the syscall replaces the process or fails.
    unsafe {
        libc::execv(program.as_ptr(), argv.as_ptr());
        libc::_exit(127);
    }
}

fn vforks() {
    for _ in 0..5 {
        let program = CString::new("/proc/self/exe").unwrap();
        let argv = [program.as_ptr(), c"leaf".as_ptr(), std::ptr::null()];
        // SAFETY: the child of vfork only executes or ends; the strings live on in the parent.
        #[allow(deprecated)]
        let pid = unsafe {
            let pid = libc::vfork();
            if pid == 0 {
                libc::execv(program.as_ptr(), argv.as_ptr());
                libc::_exit(127);
            }
            pid
        };
        Child(pid).wait();
    }
}

/// The thread takes over the number of the main thread, which ends.
fn exec_by_a_thread() {
    std::thread::spawn(execute_leaf);
    // SAFETY: waits for a signal.
    unsafe { libc::pause() };
}

fn stop_and_continue() {
    let stopped = child(|| {
        kill_self(libc::SIGSTOP);
        times(1, libc::SYS_getsid);
    });
    // SAFETY: takes numbers; the status pointer is null.
    unsafe {
        libc::waitpid(stopped.0, null_mut(), libc::WUNTRACED);
        libc::kill(stopped.0, libc::SIGCONT);
    }
    stopped.wait();
}

#[cfg(target_arch = "x86_64")]
fn other_interfaces() {
    times(1, 0x4000_0000 | libc::SYS_getpid);
    for _ in 0..7 {
        // SAFETY: `getpid` of the 32-bit ABI touches no memory.
        unsafe {
            std::arch::asm!("int 0x80", inlateout("rax") 20_i64 => _, lateout("r8") _, lateout("r9") _,
                lateout("r10") _, lateout("r11") _);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn other_interfaces() {}

/// Installs `code` by seccomp(2).
fn install(code: &[sock_filter], flags: libc::c_ulong) {
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_ptr().cast_mut() };
    let none = null_mut::<c_void>();
    // SAFETY: the program lives until the syscalls return.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, none, none, none);
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program);
    }
}

/// A filter that returns this verdict for one syscall and allows all others.
fn one_syscall(nr: c_long, verdict: u32) -> [sock_filter; 4] {
    let insn = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    [
        insn(0x20, 0, 0, 0),
        insn(0x15, 0, 1, nr as u32),
        insn(0x06, 0, 0, verdict),
        insn(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// Installs filters in every way, each with another number: by `prctl`, for all threads, in a child, and by the 32-bit ABI. Tries
/// to install one that the kernel refuses.
fn installs() {
    fn of(number: u32) -> [sock_filter; 4] {
        one_syscall(c_long::from(number), libc::SECCOMP_RET_ERRNO | 1)
    }
    fn mode() -> i32 {
        let none = null_mut::<c_void>();
        // SAFETY: takes numbers.
        unsafe { libc::prctl(libc::PR_GET_SECCOMP, none, none, none, none) }
    }
    // Some programs install no filter if they have one.
    assert_eq!(mode(), 0, "the filter that stops it is hidden");
    let code = of(9_001);
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_ptr().cast_mut() };
    let none = null_mut::<c_void>();
    // SAFETY: the program lives until the syscalls return.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, none, none, none);
        let mode = libc::SECCOMP_MODE_FILTER as usize;
        libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program, none, none);
    }
    assert_eq!(mode(), libc::SECCOMP_MODE_FILTER as i32);
    install(&of(9_002)[..2], 0);
    std::thread::scope(|scope| {
        scope.spawn(|| install(&of(9_003), libc::SECCOMP_FILTER_FLAG_TSYNC));
    });
    child(|| install(&of(9_004), 0)).wait();
    install_by_other_interface(&of(9_005));
}

/// Installs a filter by the 32-bit ABI, whose pointers have 32 bits.
#[cfg(target_arch = "x86_64")]
fn install_by_other_interface(code: &[sock_filter]) {
    /// `seccomp` of the 32-bit ABI.
    const SECCOMP: i64 = 354;
    let (read, write) = (libc::PROT_READ, libc::PROT_WRITE);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT;
    // SAFETY: the new page has room for the structure and the code; the syscall reads both. `rbx` is kept.
    unsafe {
        let page = libc::mmap(null_mut(), 4096, read | write, flags, -1, 0);
        let to = page.cast::<u8>().add(8);
        page.cast::<u16>().write(code.len() as u16);
        page.cast::<u32>().add(1).write(to as u32);
        std::ptr::copy_nonoverlapping(code.as_ptr(), to.cast::<sock_filter>(), code.len());
        std::arch::asm!("xchg rbx, {mode}", "int 0x80", "xchg rbx, {mode}",
            mode = inout(reg) 1_i64 => _, inlateout("rax") SECCOMP => _, in("rcx") 0_i64,
            in("rdx") page, lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn install_by_other_interface(_: &[sock_filter]) {}

fn own_filter() {
    install(&one_syscall(libc::SYS_geteuid, libc::SECCOMP_RET_ERRNO | 1), 0);
    install(&one_syscall(libc::SYS_sched_get_priority_max, libc::SECCOMP_RET_KILL_PROCESS), 0);
    times(30, libc::SYS_geteuid);
    child(|| times(5, libc::SYS_geteuid)).wait();
    times(1, libc::SYS_sched_get_priority_max);
}

fn filter_that_kills_a_thread() {
    install(&one_syscall(libc::SYS_sched_get_priority_min, libc::SECCOMP_RET_KILL_THREAD), 0);
    static THREAD: AtomicI32 = AtomicI32::new(0);
    std::thread::spawn(|| {
        // SAFETY: takes nothing.
        THREAD.store(unsafe { libc::gettid() }, Ordering::Release);
        times(1, libc::SYS_sched_get_priority_min);
    });
    // A killed thread cannot be joined.
    for _ in 0..1000 {
        std::thread::sleep(Duration::from_millis(10));
        let thread = THREAD.load(Ordering::Acquire);
        // SAFETY: takes numbers; signal 0 only checks that the thread exists.
        let is_gone = || unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, 0) } != 0;
        if thread != 0 && is_gone() {
            return;
        }
    }
}

/// One thread runs and one sleeps while the filter is installed.
fn filter_for_all_threads() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    let denied = || times(10, libc::SYS_munlockall);
    let runs = std::thread::spawn(move || {
        while !INSTALLED.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        denied();
    });
    let (wake, woken) = std::sync::mpsc::channel::<()>();
    let sleeps = std::thread::spawn(move || {
        let _ = woken.recv();
        denied();
    });
    std::thread::sleep(Duration::from_millis(20));
    let code = one_syscall(libc::SYS_munlockall, libc::SECCOMP_RET_ERRNO | 1);
    install(&code, libc::SECCOMP_FILTER_FLAG_TSYNC);
    INSTALLED.store(true, Ordering::Release);
    drop(wake);
    drop((runs.join(), sleeps.join()));
}
