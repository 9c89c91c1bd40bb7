//! Part of the command `callgate`, without a stable interface.
//!
//! What seccomp filters cost on the running kernel.
//!
//! - [`measure()`]: measures subjects in child processes, round by round, with statistics.
//! - [`Subject`]: a stack of filters that kills no process; [`MeasurableSyscall`]: a syscall that can be measured.
//! - [`stats`]: medians and their confidence intervals.
//! - [`engines`]: the engines that run programs in user space.
//! - [`text`](mod@text), [`json`], [`samples`]: results as text, as JSON, and the time of each batch.
//! - [`process`]: the CPU time that filters take in a running process.
//! - [`own_filters`]: what the filters of this process do with syscalls, found out by calls that have no effect.
//! - [`page`], [`chart`]: results as an HTML page with charts, in the style of other pages.
//! - [`Mix`]: a random sequence of syscalls; [`Work`]: what processes repeat besides syscalls, defined by experiments elsewhere.
//!
//! `unsafe` code is in `raw.rs`, `cold.rs`, `body.rs`, `sigreturn.rs`, `worker.rs`, `interrupt.rs` and `own_filters/`.
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
pub mod engines;
pub mod interrupt;
pub mod json;
mod measure;
mod mix;
pub mod own_filters;
pub mod page;
mod pieces;
pub mod process;
pub mod raw;
pub mod report;
pub mod samples;
mod setting;
mod sigreturn;
pub mod stats;
mod subject;
mod syscalls;
pub mod text;
mod worker;

pub use arguments::UnsafeArguments;
pub use body::{Body, ReadyWork, Work, WorkError};
pub use cold::Cold;
pub use interrupt::on_ctrl_c;
pub use measure::{BatchTime, Estimate, Mean, Plan, Samples, measure};
pub use mix::{Mix, draw_indices};
pub use raw::{RawSyscall, allowed_cpus};
pub use setting::setting;
pub use subject::{Subject, SubjectError, Treatment, syscall_data};
pub use syscalls::{MeasurableSyscall, choose_syscalls};
pub use worker::{Batches, MeasureError};
