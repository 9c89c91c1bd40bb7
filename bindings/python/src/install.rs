//! Installs programs.

use callgate_bpf::FilterFlags;
use callgate_core::{Endian, Program};
use pyo3::prelude::*;

/// Sets `no_new_privs` and installs a program, the bytes of `struct sock_filter`, with the flags of `seccomp(2)` by their
/// names. Returns why it failed, and what to do about it.
#[pyfunction]
pub(crate) fn install(program: &[u8], flags: Vec<String>) -> Option<(String, String)> {
    let program = match Program::from_bytes(program, Endian::NATIVE) {
        Ok(program) => program,
        Err(error) => return Some((error.to_string(), String::new())),
    };
    let mut all = FilterFlags::NONE;
    for flag in flags {
        let name = flag.strip_prefix("SECCOMP_FILTER_FLAG_").unwrap_or(&flag);
        match FilterFlags::named(name) {
            Some(one) => all |= one,
            None => return Some((format!("unknown flag {flag}"), String::new())),
        }
    }
    // The calling thread keeps the GIL: a filter without TSYNC is for this thread.
    callgate_linux::install_unproved(&program, all)
        .err()
        .map(|error| (error.to_string(), error.help()))
}
