//! What the filters of this process do with syscalls, without any privilege: child processes make calls that have no effect, and
//! the answers are compared with those that the kernel gives.
//!
//! ```no_run
//! use callgate_linux::ThreadStatus;
//! use callgate_measure::own_filters::{Finding, Machine, probe_calls, probe_filters};
//!
//! let status = ThreadStatus::of_this_thread().ok_or("no /proc")?;
//! let machine = Machine::of_this_process(&status);
//! for call in probe_filters(&machine)? {
//!     if let Finding::Denied(errno) = call.finding {
//!         println!("{} is denied with errno {errno}", call.call.shown);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ask;
mod calls;
mod judge;
mod list;
mod machine;
mod probed;

pub use ask::Outcome;
pub use judge::{Doubt, Finding};
pub use list::{ProbeCall, probe_calls};
pub use machine::Machine;
pub use probed::{OwnFiltersError, ProbedCall, probe_filters};
