//! Firejail profiles (`.profile`, `.inc`, `.local`), and their reader: the stack of filters that firejail installs on x86-64.
//!
//! A profile has a command per line. Those about filters are
//!
//! ```text
//! seccomp                          # the default list of what is denied
//! seccomp @clock,!chroot,mount:ENOSYS
//! seccomp.drop @module,$175        # this list alone
//! seccomp.keep read,write,exit_group
//! seccomp.32.drop mount            # for i386, with seccomp.drop
//! seccomp.block-secondary
//! seccomp-error-action kill
//! protocol unix,inet,inet6
//! memory-deny-write-execute
//! restrict-namespaces user,net
//! include app-common.profile
//! ignore seccomp
//! ```
//!
//! All others are known by their first word and skipped; unknown ones get a warning. Of two lists of one command, the last one
//! counts; `protocol` and `restrict-namespaces` collect names. `ignore` removes the lines after it that begin so.
//!
//! A file is found beside the profile, or else in `/etc/firejail`; a missing file is an error, unless its name ends with `.local`.
//!
//! The lists, groups and programs are those of firejail 0.9.72 on x86-64. Errors, because what firejail does is not modelled or cannot
//! be known: other architectures; `seccomp.32` and `seccomp.32.keep`, and `seccomp.32.drop` without `seccomp.drop`; `allow-debuggers`
//! with the default list; lines about filters behind a condition such as `?HAS_X11:`; paths with `~` and `${HOME}`; lists that are
//! so long that firejail's optimizer writes a wrong program. Firejail's own configuration (`firejail.config`) and its command line
//! are not read.
//!
//! Limits: 10 MiB of text with all included files, 1,000 inclusions, 16 of them inside each other as in firejail, lines of 8,190
//! bytes and 32 lines with `ignore` as in firejail.
//!
//! Sources: `src/firejail/profile.c`, `sandbox.c`, `seccomp.c`, `preproc.c`, `src/fseccomp`, `src/fsec-optimize` and
//! `src/lib/syscall.c` of firejail.

mod language;
mod lists;
mod lower;
mod read;
mod settings;
mod table;

#[cfg(test)]
mod tests;

pub use language::LANGUAGE;
