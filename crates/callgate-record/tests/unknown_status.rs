//! A command whose status nobody keeps is recorded all the same. The only test here, as it changes what
//! happens to all children of the process.

use std::time::Duration;

use callgate_linux::Command;
use callgate_record::{Note, Way, record};

#[test]
fn a_recording_does_not_need_the_status_of_the_command() {
    for way in Way::ALL {
        // SAFETY: a disposition that needs no handler.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        let recorder = std::thread::spawn(move || {
            let command = Command::find(&["sleep".into(), "1".into()]).unwrap();
            record(&command, vec!["sleep".into(), "1".into()], &[way])
        });
        std::thread::sleep(Duration::from_millis(500));
        // SAFETY: the same. From now on the kernel keeps no status.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        match recorder.join().unwrap() {
            Ok(recorded) => {
                // The kernel always tells a tracer.
                let (notes, status) = match way {
                    Way::Listener | Way::Stops => (vec![], Some(0)),
                    Way::Tracepoint => (vec![Note::UnknownStatus], None),
                };
                assert_eq!((recorded.notes, recorded.recording.runs()[0].status), (notes, status));
                assert!(recorded.recording.total() > 10);
            }
            Err(why) => eprintln!("not run by {way:?}: {why}"),
        }
    }
}
