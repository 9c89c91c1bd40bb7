//! The Linux side of Callgate: install seccomp filters, execute commands under them, and inspect the filters of
//! other processes.
//!
//! - [`install`] sets `no_new_privs` and calls `seccomp(2)`; its errors say what to do. [`Installer`] does it in one thread or
//!   in all, with or without `no_new_privs`, with flags, or with a [`Listener`].
//! - [`Command`] is looked up *before* the filter is installed and executed in this very process afterwards, so
//!   that its exit status and signals are its own.
//! - [`dump`] reads the filters of another process; [`kernel_insns`] tells how much of the kernel's instruction
//!   budget they use.
//! - [`probe`] asks the running kernel for the verdicts of syscalls under a program, without executing any.
//! - [`kernel`] checks what the running kernel supports.
//! - [`Worker`], [`SharedWords`], [`ThreadStatus`] and [`sys`] are building blocks that the recorder and the
//!   measurements share.
//!
//! No function changes signal handlers, and no code runs before `main`. [`dump`] starts a thread; [`probe`] and
//! [`Worker`] fork. A filter applies to the thread that installed it (with [`FilterFlags::TSYNC`] to all threads)
//! and to everything that thread starts; it cannot be removed.
//!
//! `unsafe` code: `sys.rs`, `listener.rs`, `worker.rs`, `probe/ask.rs` and `dump/tracee.rs`.
//!
//! ```no_run
//! use callgate_bpf::FilterFlags;
//! use callgate::{Arch, Filter, Verdict};
//! use callgate_linux::{Command, install};
//!
//! let filter = Filter::builder(Arch::X86_64).default(Verdict::ALLOW).deny(["ptrace"])?;
//! let program = filter.build()?.compile()?;
//! let command = Command::find(&["ls".into(), "-l".into()])?;
//! install(&program, FilterFlags::NONE)?;
//! let error = command.exec();
//! eprintln!("{error}");
//! std::process::exit(error.exit_status().into());
//! # #[allow(unreachable_code)]
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sources: `seccomp(2)`, `prctl(2)`, `execve(2)`, `kernel/seccomp.c`.

#[cfg(not(target_os = "linux"))]
compile_error!("seccomp exists only on Linux");

mod command;
mod dump;
mod install;
pub mod kernel;
mod listener;
mod probe;
pub mod sys;
mod thread_status;
mod worker;

pub use callgate_bpf::FilterFlags;
pub use command::{Command, CommandError, ExecError};
pub use dump::{Dump, DumpError, InstalledFilter, dump};
pub use install::{
    InstallError, InstallErrorKind, Installer, MAX_INSNS_PER_THREAD, budget_used, check_machine,
    install, install_unproved, install_unproved_stack, install_unproved_stack_in_all_threads,
    kernel_insns,
};
pub use listener::{Listener, Notification};
pub use probe::{Marked, ProbeAnswer, ProbeError, is_never_filtered, probe};
pub use sys::{Disposition, error_text};
pub use thread_status::{SeccompMode, ThreadStatus};
pub use worker::{SharedWords, Worker};
