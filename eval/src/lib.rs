//! Evaluations of Callgate: comparison with other compilers, runtimes and kernels, libseccomp's regression tests,
//! the cost of recording, and hostile inputs. `cargo xtask` runs them; each directory or file is one of its tasks.

mod agreement;
pub mod apt;
mod binaries;
mod bpf_sim;
pub mod c_library;
mod compare;
mod containers;
mod converted;
mod documents;
mod experiments;
pub mod files;
mod firecracker;
mod hostile;
mod kafel;
mod kernels;
mod libseccomp_names;
mod libseccomp_rules;
mod libseccomp_speed;
mod libseccomp_suite;
mod lxc;
mod machine;
mod minijail;
mod optimum;
mod pasted_c;
mod recording;
mod refusals;
mod smt;
mod snap;
mod startup;
mod suites;
mod systemd;
mod table;
mod task;
mod tasks;
mod versions;
mod workloads;

pub use task::{Result, Task, workspace};
pub use tasks::TASKS;
