//! Filters in the running kernel: installed, read from processes, and beside the engines.

#[cfg(target_pointer_width = "64")]
mod agreement;
mod dump;
mod install;
mod installer;
mod packets;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = dump::other_process() {
        return code;
    }
    let tests = [dump::trials(), install::trials(), installer::trials(), packets::trials()]
        .into_iter()
        .flatten();
    #[cfg(target_pointer_width = "64")]
    let tests = tests.chain(agreement::trials());
    callgate_testing::run(tests.collect())
}
