//! The kernel side of Callgate: install a filter in this process, ask the kernel what it supports,
//! and execute a command under a filter.
//!
//! - [`install`]: `no_new_privs` and `seccomp(2)`, with errors that say what to do.
//! - [`Command`]: a command that is looked up *before* the filter is there, and executed in this very
//!   process afterwards, so that its exit status and its signals are its own.
//! - [`ask`]: what the kernel makes of calls under a filter, without executing any; [`Marked`] is how.
//! - [`dump`]: the filters of another process, and [`kernel_insns`]: what they take of its budget.
//! - [`mod@record`]: what a command and everything that it starts calls.
//! - [`Worker`]: a child process that shares memory with this one.
//! - [`kernel`]: what the running kernel knows.
//!
//! Only [`dump`] starts a thread, and only [`ask`], [`Worker`] and [`mod@record`] fork; a filter stays with
//! the thread that installed it (with [`Flags::TSYNC`]: with all threads) and everything that thread starts,
//! and nothing can take it away again. System calls are made in `raw.rs`, in `child.rs` for children, in
//! `dump/tracee.rs`, and in `start.rs`, `tracer.rs`, `signals.rs`, `tick.rs`, `bpf/kernel.rs` and
//! `ptrace/{bell,follow,listener}.rs` of `record/`; nowhere else, but for the mappings in `shared.rs` and `record/bpf/types.rs`, is
//! `unsafe` code.
//!
//! ```no_run
//! use callgate::bpf::{Insn, Op, Program};
//! use callgate::Verdict;
//! use callgate_sys::{Command, Flags, install};
//!
//! let program = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)])?;
//! let command = Command::find(&["ls".into(), "-l".into()])?;
//! install(&program, Flags::NONE)?;
//! let error = command.exec();
//! eprintln!("{error}");
//! std::process::exit(error.exit_status().into());
//! # #[allow(unreachable_code)]
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sources: `seccomp(2)`, `prctl(2)`, `execve(2)`, `kernel/seccomp.c`.

#[cfg(not(target_os = "linux"))]
compile_error!("seccomp exists on Linux alone, and so does this crate");

mod ask;
mod budget;
mod child;
mod command;
mod dump;
mod flags;
mod install;
pub mod kernel;
mod marked;
mod raw;
pub mod record;
mod shared;
mod status;

pub use ask::{Answer, AskError, ask};
pub use budget::{MAX_INSNS_PER_THREAD, budget_used, kernel_insns};
pub use child::Worker;
pub use command::{Command, CommandError, ExecError};
pub use dump::{Dump, DumpError, InstalledFilter, dump};
pub use flags::Flags;
pub use install::{InstallError, install, install_stack};
pub use marked::{Marked, is_never_filtered};
pub use raw::{error_text, give_signals_back, own_signals};
