//! The syscalls of machine code in bytes, and of small programs that are compiled.

mod bytes;
mod compiled;
mod programs;

use std::process::ExitCode;

fn main() -> ExitCode {
    let tests = [bytes::trials(), programs::trials()].into_iter().flatten();
    callgate_testing::run(tests.collect())
}
