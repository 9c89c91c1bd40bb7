//! Runs the program in configurations whose filters were compiled before, and in others.

use std::path::Path;
use std::process::{Command, Output};

use callgate_testing::{Need, Skip, TestResult};

fn run(configuration: &str) -> Result<Output, Skip> {
    if !Path::new("/proc/sys/kernel/seccomp/actions_avail").exists() {
        return Err(Skip::new(Need::Kernel, "the kernel has no seccomp filters"));
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_callgate-example-configurations"));
    Ok(command.arg(configuration).output().unwrap())
}

fn text(configuration: &str, age: &str, clock: &str, files: &str) -> TestResult {
    let output = run(configuration)?;
    assert!(output.status.success(), "{output:?}");
    let expected = format!(
        "{configuration}: compiled {age}\nclock: clock_getres is {clock}\nfiles: getcwd is {files}\n"
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    Ok(())
}

fn configurations_of_the_build_script_are_chosen() -> TestResult {
    text("base", "before", "denied", "denied")?;
    text("clock", "before", "allowed", "denied")?;
    text("clock,files", "before", "allowed", "allowed")
}

fn other_configurations_are_compiled_at_start_or_refused() -> TestResult {
    if cfg!(feature = "compiler") {
        text("files", "now", "denied", "allowed")?;
    } else {
        let output = run("files")?;
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        assert!(error.contains("no filter was compiled for the configuration"), "{error}");
    }
    let unknown = run("network")?;
    assert!(!unknown.status.success() && unknown.stdout.is_empty(), "{unknown:?}");
    Ok(())
}

callgate_testing::tests![
    configurations_of_the_build_script_are_chosen,
    other_configurations_are_compiled_at_start_or_refused,
];
