//! Measurements of the engines of `callgate-vm`, which run programs in user space.
//!
//! - [`workloads`]: programs and inputs to measure engines on;
//! - [`measure()`]: the time of an engine on a workload; [`executed`]: the number of executed instructions.
//!
//! ```
//! use callgate_measure::engines::{self, workloads};
//! use callgate_vm::EngineKind;
//!
//! let workload = workloads::by_name("ten-calls").ok_or("no such workload")?;
//! let executed = engines::executed(&workload);
//! assert!(executed.hot > 0);
//! if let Some(cost) = engines::measure(EngineKind::Decoded, &workload)? {
//!     println!("{:.1} ns per syscall", cost.hot_ns);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cost;
pub mod workloads;

pub use cost::{Cost, Executed, executed, measure, measure_for, packets, syscalls};
