//! The functions of `timed.c`, and the arguments of the programs.

use std::ffi::{CString, c_char, c_int};

unsafe extern "C" {
    safe fn timed_now() -> i64;
    fn timed_report(start: i64, parent: *const c_char) -> c_int;
}

/// The clock of the parent, and the value of the variable `limit`.
pub struct Arguments {
    parent: CString,
    pub limit: u64,
}

pub fn arguments() -> Arguments {
    let mut words = std::env::args().skip(1);
    let parent = words.next().and_then(|word| CString::new(word).ok()).expect("a clock");
    let limit = words.next().and_then(|word| word.parse().ok()).expect("a limit");
    Arguments { parent, limit }
}

pub fn now() -> i64 {
    timed_now()
}

/// Writes what was measured since this clock.
pub fn report(start: i64, arguments: &Arguments) {
    // SAFETY: the text is a string of C that lives until the call returns.
    let result = unsafe { timed_report(start, arguments.parent.as_ptr()) };
    assert_eq!(result, 0, "the result is written");
}
