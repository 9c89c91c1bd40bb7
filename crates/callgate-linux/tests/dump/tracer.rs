//! What the kernel does when a tracer ends.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use callgate_testing::{Need, Skip, TestResult};

use crate::dump::other::{LIMIT, Other};

/// Traces a thread until the calling thread ends.
pub(super) fn seize(thread: u32) -> TestResult {
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
pub(super) fn a_tracer_that_ends_at_a_syscall_stop_delivers_no_signal() -> TestResult {
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
