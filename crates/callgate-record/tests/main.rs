//! Recordings by every method, of commands and of running processes.

mod attach;
mod record;
mod skip;
mod split;

use std::process::ExitCode;

fn main() -> ExitCode {
    let tests = [attach::trials(), record::trials(), split::trials()].into_iter().flatten();
    callgate_testing::run_waiting(tests.collect())
}
