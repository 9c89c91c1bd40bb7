//! `cargo lab`: comparisons of Callgate with other compilers, runtimes and kernels, libseccomp's regression tests,
//! the cost of recording, and hostile inputs. Each directory or file is one of its tasks.

mod agreement;
mod binaries;
mod bpf_sim;
mod built_in_profiles;
mod compare;
mod containers;
mod converted;
mod documents;
mod experiments;
mod firecracker;
mod hostile;
mod kafel;
mod kernels;
mod libseccomp_names;
mod libseccomp_program;
mod libseccomp_rules;
mod libseccomp_speed;
mod libseccomp_suite;
mod libseccomp_versions;
mod lxc;
mod machine;
mod measuring;
mod minijail;
mod optimum;
mod pasted_c;
mod profiles;
mod progress;
mod recording;
mod refusals;
mod smt;
mod snap;
mod startup;
mod suites;
mod systemd;
mod table;
mod tasks;
mod truth;
mod versions;
mod workloads;

use std::process::ExitCode;

fn main() -> ExitCode {
    callgate_tasks::run("lab", tasks::TASKS)
}
