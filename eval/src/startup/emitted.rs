//! Installs the filter that Callgate emitted as Rust. Compiled by rustc alone, so the part of the crate `libc` that the
//! emitted code needs is here, with functions that measure the two system calls.

use std::io::Write;
use std::time::Instant;

/// The part of the crate `libc` that the emitted code needs.
#[allow(non_camel_case_types, non_upper_case_globals)]
mod libc {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Instant;

    pub type c_long = i64;
    pub type c_ulong = u64;

    #[derive(Clone, Copy)]
    #[repr(C)]
    pub struct sock_filter {
        pub code: u16,
        pub jt: u8,
        pub jf: u8,
        pub k: u32,
    }

    #[repr(C)]
    pub struct sock_fprog {
        pub len: u16,
        pub filter: *mut sock_filter,
    }

    #[repr(C)]
    pub struct timespec {
        pub seconds: i64,
        pub nanoseconds: i64,
    }

    mod real {
        unsafe extern "C" {
            pub fn prctl(option: i32, ...) -> i32;
            pub fn syscall(number: i64, ...) -> i64;
            pub fn clock_gettime(clock: i32, time: *mut super::timespec) -> i32;
        }
    }

    pub use real::clock_gettime;

    pub const PR_SET_NO_NEW_PRIVS: i32 = 38;
    pub const SECCOMP_SET_MODE_FILTER: u32 = 1;
    pub const SECCOMP_FILTER_FLAG_TSYNC: u64 = 1;
    pub const ESRCH: i32 = 3;
    pub const CLOCK_MONOTONIC: i32 = 1;
    #[cfg(target_arch = "x86_64")]
    pub const SYS_seccomp: i64 = 317;
    #[cfg(target_arch = "aarch64")]
    pub const SYS_seccomp: i64 = 277;

    /// The nanoseconds in the two system calls.
    pub static EXCLUDED: AtomicU64 = AtomicU64::new(0);

    fn timed<T>(call: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = call();
        EXCLUDED.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        result
    }

    pub unsafe fn prctl(option: i32, a: u64, b: u64, c: u64, d: u64) -> i32 {
        // SAFETY: the caller's.
        timed(|| unsafe { real::prctl(option, a, b, c, d) })
    }

    pub unsafe fn syscall(number: i64, op: u32, flags: u64, program: *const sock_fprog) -> i64 {
        // SAFETY: the caller's.
        timed(|| unsafe { real::syscall(number, op, flags, program) })
    }
}

mod emitted {
    use super::libc;
    include!("filter.rs");
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let parent: i64 = arguments.next().and_then(|word| word.parse().ok()).expect("a clock");
    let limit: u64 = arguments.next().and_then(|word| word.parse().ok()).expect("a limit");
    let start = Instant::now();
    emitted::install_filter(1, limit).expect("the filter is installed");
    let all = start.elapsed().as_nanos() as u64;
    let excluded = libc::EXCLUDED.load(std::sync::atomic::Ordering::Relaxed);
    let mut time = libc::timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the kernel writes to `time`, which lives until the call returns.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    let since = time.seconds * 1_000_000_000 + time.nanoseconds - parent;
    writeln!(std::io::stdout(), "{} {excluded} {since}", all - excluded).expect("a result");
}
