//! Syscalls that a C library or a language runtime may make at any time, in any program.
//!
//! A recording has these syscalls only by chance: a signal that preempts a goroutine, a lock that another thread holds, a
//! heap that grows, a page of code that V8 makes executable, an assertion that fails. A profile without them kills some of
//! the runs of a program, or makes them slow. So they are granted with a reason of their own. There are at most 25 per
//! runtime, none of them dangerous, each with its place in the source of the runtime. Arguments that select what a syscall
//! does are limited to the values that the runtime uses.
//!
//! | file | contents |
//! |---|---|
//! | `table` | the syscalls of each runtime, and where its source makes them |
//! | `detect` | which runtimes a recording shows |

mod detect;
mod table;

pub(super) use detect::detect;
pub use table::{LanguageRuntime, RuntimeCall};
