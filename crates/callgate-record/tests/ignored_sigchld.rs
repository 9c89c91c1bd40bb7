//! The disposition of SIGCHLD belongs to the whole process, so this test has one of its own.

mod common;

use callgate_linux::Command;
use callgate_record::{RecordMethod, exit_status, record};
use callgate_testing::TestResult;

const SUBJECT: &str = env!("CARGO_BIN_EXE_record-subject");

callgate_testing::tests![the_status_of_the_command_is_kept_if_sigchld_is_ignored];

fn the_status_of_the_command_is_kept_if_sigchld_is_ignored() -> TestResult {
    let words = [SUBJECT, "exit", "3"];
    let command = Command::find(&words.map(Into::into)).unwrap();
    // SAFETY: SIG_IGN is a valid disposition and installs no code.
    let ignore = || unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    ignore();
    let mut skipped = Ok(());
    for method in RecordMethod::ALL {
        match record(&command, words.map(str::to_owned).to_vec(), &[method]) {
            Ok(recorded) => assert_eq!(exit_status(recorded.status), 3, "{method:?}"),
            Err(why) => skipped = Err(common::impossible(method, &why)),
        }
        assert_eq!(ignore(), libc::SIG_IGN, "the disposition is restored");
    }
    skipped
}
