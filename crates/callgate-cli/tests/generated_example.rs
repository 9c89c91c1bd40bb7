//! What `go generate` would write into the example for Go is in the tree.

use std::path::Path;
use std::process::Command;

use callgate_testing::TestResult;

pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![the_generated_filter_is_that_of_its_command]
}

fn the_generated_filter_is_that_of_its_command() -> TestResult {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/go-generate");
    let text = |name: &str| std::fs::read_to_string(example.join(name)).unwrap();
    let program = text("main.go");
    let line = program.lines().find_map(|line| line.strip_prefix("//go:generate callgate "));
    let (arguments, file) = line.unwrap().split_once(" -o ").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_callgate"))
        .args(arguments.split(' '))
        .env("GOPACKAGE", "main")
        .current_dir(&example)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), text(file), "run `go generate`");
    Ok(())
}
