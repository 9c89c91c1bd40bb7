//! What seccomp filters cost on the running kernel.
//!
//! - [`measure()`]: measures subjects in child processes, round by round, with statistics.
//! - [`Subject`]: a stack of filters that kills no process; [`MeasurableSyscall`]: a syscall that can be measured.
//! - [`stats`]: medians and their confidence intervals.
//! - [`libseccomp`]: the programs that libseccomp generates, as a baseline.
//! - [`experiment`]: published experiments.
//! - [`workload`]: real servers under filters, driven by their usual clients.
//! - [`engines`]: the engines that run programs in user space.
//! - [`page`], [`chart`]: results as an HTML page with charts, in the style of other pages.
//!
//! `unsafe` code is in `raw.rs`, `cold.rs`, `body.rs`, `sigreturn.rs`, `worker.rs`, `waiters.rs`, `socket.rs`,
//! `counters.rs`, `interrupt.rs` and `workload/process.rs`.
//!
//! ```no_run
//! use std::time::Duration;
//! use callgate_measure::{Batches, Body, MeasurableSyscall, Plan, Subject, measure};
//!
//! let getpid = MeasurableSyscall::find("getpid").ok_or("not on this machine")?;
//! let samples = measure(&Plan {
//!     subjects: vec![Subject::none(), Subject::constant_allow()],
//!     bodies: vec![Body::from(getpid)],
//!     mean: None,
//!     batches: Batches::default(),
//!     min_rounds: 9,
//!     max_rounds: 50,
//!     time: Duration::from_secs(2),
//!     precision: 0.01,
//!     seed: 1,
//! }, &mut |_| {})?;
//! let allow = samples.estimate(1, 0).ok_or("interrupted")?;
//! println!("a filter costs {:.1} ns", allow.overhead.median);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arguments;
mod body;
pub mod chart;
mod cold;
mod counters;
pub mod engines;
pub mod experiment;
mod interrupt;
mod jit;
pub mod libseccomp;
mod measure;
pub mod page;
pub mod published;
mod raw;
pub mod report;
mod setting;
mod sigreturn;
mod socket;
pub mod stats;
mod subject;
mod syscalls;
mod waiters;
mod worker;
pub mod workload;

pub use arguments::UnsafeArguments;
pub use body::Body;
pub use cold::Cold;
pub use interrupt::on_ctrl_c;
pub use jit::Jit;
pub use measure::{BatchTime, Estimate, Mean, Plan, Samples, measure};
pub use raw::{RawSyscall, allowed_cpus};
pub use setting::setting;
pub use socket::PacketPath;
pub use subject::{Subject, SubjectError, Treatment};
pub use syscalls::{MeasurableSyscall, choose_syscalls};
pub use worker::{Batches, MeasureError};
