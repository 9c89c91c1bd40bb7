//! Runs the program, and checks what its filter allows.

use std::path::Path;
use std::process::Command;

use callgate_testing::{Need, Skip, TestResult};

fn the_filter_allows_one_descriptor() -> TestResult {
    if !Path::new("/proc/sys/kernel/seccomp/actions_avail").exists() {
        return Err(Skip::new(Need::Kernel, "the kernel has no seccomp filters"));
    }
    let output = Command::new(env!("CARGO_BIN_EXE_callgate-example-build-time")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "to the controller: written\nto standard output: Err(1)\n", "{output:?}");
    Ok(())
}

callgate_testing::tests![the_filter_allows_one_descriptor];
