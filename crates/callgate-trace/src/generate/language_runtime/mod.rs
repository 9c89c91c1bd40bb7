//! What a C library or the runtime of a language may do at any time, whatever the program does.
//!
//! A recording has these syscalls only by chance: a signal that preempts a goroutine, a lock that another thread holds, a
//! heap that grows, a page of code that V8 makes executable, an assertion that fails. A profile without them kills some of
//! the runs of a program, or makes them slow. So they are granted with a reason of their own: at most 25 for
//! each runtime, each with its place in the source of the runtime, none of them dangerous, and arguments that select what
//! a syscall does are limited to the values that the runtime uses.
//!
//! | file | contents |
//! |---|---|
//! | `table` | the syscalls of each runtime, and where its source makes them |
//! | `detect` | which runtimes a recording shows |

mod detect;
mod table;

pub(super) use detect::detect;
pub use table::{LanguageRuntime, RuntimeCall};
