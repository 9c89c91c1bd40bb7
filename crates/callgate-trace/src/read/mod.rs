//! Reads recordings from files of Callgate and of other tools. The format of a text is detected from its content:
//!
//! - a [recording in JSON](crate::recording#json-format);
//! - a log of [strace](#logs-of-strace);
//! - [audit records](#audit-logs) of seccomp, raw or interpreted;
//! - tables that only count: two columns, `strace -c`, `perf trace -s`, see [`counts`](crate::counts).
//!
//! Recordings in JSON and audit records name the architecture. For other logs it is given, except where they say
//! otherwise. Every line that cannot be read causes a message with its position.
//!
//! [`RecordingReader`] takes a text in pieces. With [`TextSplitter`], the lines of a log can be parsed in other threads,
//! with the same result.
//!
//! # strace logs
//!
//! With or without `-f`, `-ff`, times, and other text that strace prints before and after a syscall. A syscall that
//! others interrupt (`<unfinished ...>`) is counted once. Names of flags, strings and structures are not read as values.
//! Numbers are, if they are exact: on 32-bit ABIs, and for `clone`, whose arguments strace reorders, this needs
//! `strace -e raw=all`, which prints the values of all arguments. strace reports that a process changes to another ABI
//! only on standard error: in a file (`-o`), such syscalls are attributed to the given architecture. A truncated last
//! line is counted, without its values.
//!
//! # Audit logs
//!
//! Each record of the type `SECCOMP` (1326) is a syscall that a filter logged or denied. Records are in the log of auditd,
//! or without auditd in that of the kernel (`dmesg`) and in the journal (`journalctl`). A journal may have a record twice,
//! from the kernel log and from the audit socket; it is counted once. Records have no argument values. A truncated last
//! record is ignored if its syscall number may be truncated.

pub(crate) mod detect;
mod reader;
mod split;

pub use detect::ReadRecording;
pub use reader::{ReadOptions, RecordingReader, read};
pub use split::{TextPart, TextSplitter};

#[cfg(test)]
mod tests;
