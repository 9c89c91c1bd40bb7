//! A recorder whose process ignores SIGCHLD still learns the status of the command.

use callgate_linux::Command;
use callgate_record::{RecordMethod, exit_status, record};
use callgate_testing::TestResult;

const SUBJECT: &str = env!("CARGO_BIN_EXE_record-subject");

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    crate::alone(
        module_path!(),
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
    let recorded = recorded.map_err(|why| crate::skip::impossible(method, &why))?;
    assert_eq!(exit_status(recorded.status), 3);
    Ok(())
}
