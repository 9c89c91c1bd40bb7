//! nsjail configurations (`.cfg`), and their reader: the filter is a Kafel policy in a field.
//!
//! A configuration is a message `NsJailConfig` in the text format of protocol buffers. Two of its fields are about the
//! filter (`config.proto` and `sandbox.cc` of nsjail):
//!
//! - `seccomp_string` is repeated: each value is a line of one policy in [Kafel's language](crate::kafel).
//! - `seccomp_policy_file` is the name of a file with a policy. Here it is relative to the file that names it; nsjail takes
//!   it relative to its current directory.
//!
//! nsjail refuses both together, and so does this reader. Without either, nsjail installs no filter, which is an error
//! here. `seccomp_log: true` installs the filter with SECCOMP_FILTER_FLAG_LOG and SECCOMP_FILTER_FLAG_TSYNC.
//! `seccomp_unotify: true` installs another filter that passes syscalls to nsjail; it is not read, with a warning.
//!
//! All other fields say nothing about the filter. They are skipped by their structure alone: which fields a message has is
//! not checked.
//!
//! Of the text format the reader takes fields with and without `:`, messages in `{ }` and `< >`, lists in `[ ]`, `;` and
//! `,` after fields, comments after `#`, and strings in either quote with escapes, which may contain line breaks and
//! continue in the next string (`TextFormat` of protobuf 3).
//!
//! Positions in messages are those in the configuration, also for what is wrong in the policy.
//!
//! Limits: those of Kafel policies, 10 MiB of text among them.

mod fields;
mod language;
mod read;

#[cfg(test)]
mod tests;

pub use language::LANGUAGE;
pub use read::read;
