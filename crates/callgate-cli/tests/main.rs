//! The command as users run it: a module per subject. The sessions are the most important one.

mod baseline_json;
mod bench_json;
mod bench_pid;
mod containers;
mod generated_example;
mod libraries;
mod node;
mod parity;
mod recorder_ends;
mod review_action;
mod schema;
mod session;
mod sessions;

use std::process::ExitCode;

fn main() -> ExitCode {
    let tests = [
        baseline_json::trials(),
        bench_json::trials(),
        bench_pid::trials(),
        containers::trials(),
        generated_example::trials(),
        libraries::trials(),
        node::trials(),
        parity::trials(),
        recorder_ends::trials(),
        review_action::trials(),
        sessions::trials(),
    ]
    .into_iter()
    .flatten();
    callgate_testing::run(tests.collect())
}
