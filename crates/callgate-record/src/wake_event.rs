//! The eventfd by which signal handlers end a wait for descriptors. `unsafe` code: eventfd.
//!
//! Sources: eventfd(2), signal-safety(7).

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;

use libc::c_int;

/// The eventfd to which handlers write. It is never closed, because a handler may run in any thread at any time.
static EVENT: OnceLock<OwnedFd> = OnceLock::new();

/// The eventfd, created when it is needed first.
pub(crate) fn event() -> io::Result<&'static OwnedFd> {
    if let Some(event) = EVENT.get() {
        return Ok(event);
    }
    let event = new_eventfd()?;
    Ok(EVENT.get_or_init(|| event))
}

fn new_eventfd() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Waits for [`wake`], or for this long. May end earlier.
pub(crate) fn wait(time: Duration) {
    let Ok(event) = event() else { return std::thread::sleep(time) };
    let mut entry = libc::pollfd { fd: event.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let milliseconds = time.as_millis().saturating_add(1).try_into().unwrap_or(c_int::MAX);
    let mut count = 0_u64;
    // SAFETY: the kernel reads and writes one entry, and then writes eight bytes; the descriptor does not block.
    unsafe {
        if libc::poll(&raw mut entry, 1, milliseconds) > 0 {
            libc::read(entry.fd, (&raw mut count).cast(), size_of_val(&count));
        }
    }
}

/// Ends a wait, if there is an eventfd. Async-signal-safe.
pub(crate) fn wake() {
    let Some(event) = EVENT.get() else { return };
    let one = 1_u64;
    // SAFETY: `write` is async-signal-safe and reads eight bytes. `errno` belongs to this thread, and the code that
    // the handler interrupts finds it unchanged.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::write(event.as_raw_fd(), (&raw const one).cast(), size_of_val(&one));
        *errno = before;
    }
}
