//! The disposition of SIGCHLD belongs to the whole process, so this test has one of its own.

mod common {
    pub(crate) mod alone;
    pub(crate) mod skip;
}

use std::process::ExitCode;

use callgate_linux::Command;
use callgate_record::{RecordMethod, exit_status, record};
use callgate_testing::TestResult;

const SUBJECT: &str = env!("CARGO_BIN_EXE_record-subject");

fn main() -> ExitCode {
    common::alone::run_alone(
        "the_status_of_the_command_is_kept_if_sigchld_is_ignored",
        the_status_of_the_command_is_kept_if_sigchld_is_ignored,
    )
}

fn the_status_of_the_command_is_kept_if_sigchld_is_ignored(method: RecordMethod) -> TestResult {
    let words = [SUBJECT, "exit", "3"];
    let command = Command::find(&words.map(Into::into)).unwrap();
    // SAFETY: SIG_IGN is a valid disposition and installs no code.
    let ignore = || unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    ignore();
    let recorded = record(&command, words.map(str::to_owned).to_vec(), &[method]);
    assert_eq!(ignore(), libc::SIG_IGN, "the disposition is restored");
    let recorded = recorded.map_err(|why| common::skip::impossible(method, &why))?;
    assert_eq!(exit_status(recorded.status), 3);
    Ok(())
}
