//! What SIGCHLD does concerns the whole process, so this test is alone in its own.

use callgate_linux::Command;
use callgate_record::{Way, exit_status, record};

const SUBJECT: &str = env!("CARGO_BIN_EXE_record-subject");

#[test]
fn the_status_of_the_command_is_kept_where_sigchld_is_ignored() {
    let words = [SUBJECT, "exit", "3"];
    let command = Command::find(&words.map(Into::into)).unwrap();
    // SAFETY: SIG_IGN is a valid disposition and installs no code.
    let ignore = || unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    ignore();
    for way in Way::ALL {
        match record(&command, words.map(str::to_owned).to_vec(), &[way]) {
            Ok(recorded) => assert_eq!(exit_status(recorded.status), 3, "{way:?}"),
            // Without a status of the command there would be no recording.
            Err(why) if why.to_string().contains("waited for") => panic!("{why}"),
            Err(why) => eprintln!("not run by {way:?}: {why}"),
        }
        assert_eq!(ignore(), libc::SIG_IGN, "it is ignored again");
    }
}
