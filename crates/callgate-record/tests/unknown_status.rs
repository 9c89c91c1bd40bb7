//! A command whose exit status is lost is still recorded.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use callgate_linux::Command;
use callgate_record::{Note, RecordError, RecordMethod, Recorded, record};
use callgate_testing::TestResult;

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    crate::alone(
        module_path!(),
        "a_recording_does_not_need_the_status_of_the_command",
        a_recording_does_not_need_the_status_of_the_command,
    )
}

/// Records a command that creates `GATE.runs` and runs until `GATE` exists.
fn record_by(method: RecordMethod, gate: &str) -> Result<Recorded, RecordError> {
    let script = "echo >$0.runs; i=0; \
                  while [ ! -e $0 ] && [ $i -lt 1200 ]; do sleep 0.05; i=$((i+1)); done";
    let words = ["sh", "-c", script, gate].map(str::to_owned);
    let command = Command::find(&words.clone().map(Into::into)).unwrap();
    record(&command, words.to_vec(), &[method])
}

fn a_recording_does_not_need_the_status_of_the_command(method: RecordMethod) -> TestResult {
    const LIMIT: Duration = Duration::from_secs(60);
    let name = format!("callgate-gate-{}-{method:?}", std::process::id());
    let gate = std::env::temp_dir().join(name).display().to_string();
    let runs = PathBuf::from(format!("{gate}.runs"));
    // SAFETY: SIG_DFL is a valid disposition and installs no code.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    let recorder = std::thread::spawn({
        let gate = gate.clone();
        move || record_by(method, &gate)
    });
    let start = Instant::now();
    while !runs.exists() && !recorder.is_finished() {
        assert!(start.elapsed() < LIMIT, "the command did not start within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    // From now on the kernel discards the status of children that end.
    // SAFETY: SIG_IGN is a valid disposition and installs no code.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    std::fs::write(&gate, "").unwrap();
    let recorded = recorder.join().unwrap();
    let _ = (std::fs::remove_file(&gate), std::fs::remove_file(&runs));
    let recorded = recorded.map_err(|why| crate::skip::impossible(method, &why))?;
    // The kernel reports every end to a tracer.
    let (notes, status) = match method {
        RecordMethod::Listener | RecordMethod::Stops => (vec![], Some(0)),
        RecordMethod::Tracepoint => (vec![Note::UnknownStatus], None),
    };
    assert_eq!((recorded.notes, recorded.recording.runs()[0].status), (notes, status));
    assert!(recorded.recording.total() > 10);
    Ok(())
}
