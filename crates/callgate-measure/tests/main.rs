//! Short measurements on the running kernel, and the engines on the workloads.

mod engines;
mod measuring;
mod own_filters;

use std::process::ExitCode;

fn main() -> ExitCode {
    let tests =
        [engines::trials(), measuring::trials(), own_filters::trials()].into_iter().flatten();
    callgate_testing::run(tests.collect())
}
