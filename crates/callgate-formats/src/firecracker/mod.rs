//! Filters of Firecracker and of rust-vmm's `seccompiler`, in JSON.
//!
//! A document is an object with a filter per thread (in Firecracker `vmm`, `api` and `vcpu`); [`read()`] reads one of
//! them. A filter has two actions and a list of entries:
//!
//! ```json
//! {"vmm": {"mismatch_action": "trap", "match_action": "allow", "filter": [
//!     {"syscall": "read"},
//!     {"syscall": "fcntl", "args": [{"index": 1, "type": "dword", "op": "eq", "val": 2}]}]}}
//! ```
//!
//! The meaning is that of the crate `seccompiler`, version 0.5, with `user_notif` of its later sources:
//!
//! - A syscall gets `match_action` if all conditions of one of its entries hold, otherwise `mismatch_action`. Older
//!   documents call them `filter_action` and `default_action`.
//! - An entry without `args` holds for every call, but only if no entry of the same syscall has `args`; otherwise it has
//!   no effect, which is a warning.
//! - `dword` compares the low 32 bits of an argument, `qword` all 64, unsigned; `val` is cut to the same width.
//!   `{"masked_eq": mask}` compares the bits of the mask, and cuts `val` to them.
//! - An action with a number keeps its low 16 bits.
//! - Numbers of x32 get `mismatch_action` on x86-64. Syscalls of other architectures kill the process.
//! - A mistake in the filter of any thread is an error, also if another one is read: equal actions, an empty `args`,
//!   unknown keys and syscalls.
//!
//! Firecracker 1.11 and later compile such documents with libseccomp instead, which differs; `docs/reference/languages/firecracker.md`
//! lists how.
//!
//! Limits: those of JSON, and 150,000 conditions in the filter of the thread.
//!
//! Sources: `src/frontend/json.rs` and `src/backend` of rust-vmm/seccompiler; `docs/json_format.md` of the same.

mod language;
mod parse;
mod read;
mod write;

pub use language::LANGUAGE;
pub use read::{ReadOptions, read};
