//! The other process: it does what its role says.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
#[cfg(target_arch = "x86_64")]
use std::time::{Duration, Instant};

#[cfg(target_arch = "x86_64")]
use callgate::Verdict;
use callgate_linux::{FilterFlags, install_unproved};

#[cfg(target_arch = "x86_64")]
use crate::dump::filters::{DENIED, except};
use crate::dump::filters::{newer, older};
#[cfg(target_arch = "x86_64")]
use crate::dump::other::LIMIT;

/// How long the other process sleeps.
#[cfg(target_arch = "x86_64")]
pub(super) const SLEEP: Duration = Duration::from_millis(700);

/// How often a sleep is ended.
#[cfg(target_arch = "x86_64")]
pub(super) const WAKES: u32 = 100;

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
pub(super) fn other_process(role: &str) -> ExitCode {
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
        install_unproved(&older(), FilterFlags::NONE).unwrap();
        install_unproved(&newer(), FilterFlags::LOG).unwrap();
    }
    #[cfg(target_arch = "x86_64")]
    match role {
        "nanosleep" | "poll" => {
            let kill = except(libc::SYS_restart_syscall, Verdict::KILL_PROCESS);
            install_unproved(&kill, FilterFlags::NONE).unwrap();
        }
        "nanosleep, errno" | "is woken" => {
            let deny = except(libc::SYS_restart_syscall, Verdict::errno(DENIED));
            install_unproved(&deny, FilterFlags::NONE).unwrap();
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
