//! Mounts a file over another one, for tests, in a mount namespace of its own. `unsafe` code: mounts.

use std::ffi::CString;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// Runs `then` in a thread for which `path` has this content. The mounts end with the thread. Needs root.
pub(super) fn with_mount(path: &str, content: &str, then: impl FnOnce() + Send + 'static) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("callgate-mounted-{}-{number}", std::process::id());
    let other = std::env::temp_dir().join(name);
    std::fs::write(&other, content).unwrap();
    let c_string = |path: &str| CString::new(path).unwrap();
    let (from, to) = (c_string(other.to_str().unwrap()), c_string(path));
    let (path, content) = (path.to_owned(), content.to_owned());
    let thread = std::thread::spawn(move || {
        let none = std::ptr::null();
        let mount = |from, to, flags| {
            // SAFETY: the kernel reads strings that end with a zero byte, and the data is null.
            unsafe { libc::mount(from, to, none, flags, none.cast()) == 0 }
        };
        // SAFETY: takes a number and affects only this thread.
        let mounted = unsafe { libc::unshare(libc::CLONE_NEWNS) } == 0
            && mount(none, c"/".as_ptr(), libc::MS_REC | libc::MS_PRIVATE)
            && mount(from.as_ptr(), to.as_ptr(), libc::MS_BIND);
        assert!(mounted, "mounts need CAP_SYS_ADMIN: {}", io::Error::last_os_error());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        then();
    });
    let result = thread.join();
    std::fs::remove_file(&other).unwrap();
    result.unwrap();
}
