//! Threads of the initial PID namespace, whose numbers eBPF programs see.

use std::os::unix::fs::MetadataExt;

use crate::tracer;

/// Whether a recorded thread has disappeared. Its number belongs to the initial PID namespace; in another one this
/// cannot be checked, and the result is false.
pub(super) fn is_gone(key: &[u8]) -> bool {
    let Ok(thread) = key.try_into().map(i32::from_ne_bytes) else { return false };
    in_first_namespace() && !tracer::exists(thread)
}

/// Whether this process is in the initial PID namespace, so that process IDs are those that eBPF programs see
/// (`PROC_PID_INIT_INO` of `include/linux/proc_ns.h`).
pub(super) fn in_first_namespace() -> bool {
    const FIRST: u64 = 0xefff_fffc;
    std::fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() == FIRST)
}
