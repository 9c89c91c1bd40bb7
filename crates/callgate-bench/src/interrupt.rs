//! Ctrl-C ends a measurement, not the program: what is measured so far is kept.

use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

extern "C" fn request(_: libc::c_int) {
    REQUESTED.store(true, Ordering::Relaxed);
}

/// Makes the first SIGINT or SIGTERM end measurements; the second ends the process as usual.
pub fn on_ctrl_c() {
    // SAFETY: a zeroed `sigaction` has no mask and no flags; the handler touches an atomic alone.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = request as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        for signal in [libc::SIGINT, libc::SIGTERM] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Whether a measurement is to end.
pub(crate) fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
