//! The function that exports the rules of a context as a policy text.

use callgate_formats::policy_text;
use libc::c_int;
use seccomp::abi::{Handle, policy_of};

/// Writes the rules of a context as a policy text to a file descriptor; the signature is that of `seccomp_export_bpf`.
#[unsafe(no_mangle)]
pub extern "C" fn callgate_export_policy(ctx: Handle, fd: c_int) -> c_int {
    let text = policy_of(ctx).and_then(|policy| policy_text::write(&[policy], false, &[]).ok());
    let Some(text) = text else { return -libc::EINVAL };
    let mut bytes = text.as_bytes();
    while !bytes.is_empty() {
        // SAFETY: the buffer has this length.
        let written = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => bytes = bytes.get(written..).unwrap_or_default(),
            _ => return -libc::EIO,
        }
    }
    0
}
