//! Tests of the disposition of signals, which belongs to the whole process: one after the other, and beside no others.

mod first_syscalls;
mod ignored_sigchld;
mod skip;
mod unknown_status;

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use callgate_record::RecordMethod;
use callgate_testing::{TestResult, Trial, name_in, test};

fn main() -> ExitCode {
    let tests = [first_syscalls::trials(), ignored_sigchld::trials(), unknown_status::trials()];
    callgate_testing::run(tests.into_iter().flatten().collect())
}

/// A test per method. Each starts with the default disposition of SIGCHLD.
fn alone(module: &str, name: &str, body: fn(RecordMethod) -> TestResult) -> Vec<Trial> {
    static ALONE: Mutex<()> = Mutex::new(());
    let trial = |method| {
        test(name_in(module, &format!("{name}::{method:?}")), move || {
            let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: SIG_DFL is a valid disposition and installs no code.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
            body(method)
        })
    };
    RecordMethod::ALL.map(trial).into()
}
