//! Tests that run a program and look at its exit status: `basic`, `bpf-valgrind` and `live`.

use std::process::Command;
use std::time::Duration;

use super::batch::Line;
use super::outcome::Outcome;
use super::process::{End, LIMIT, run};
use super::suite::Suite;
use callgate_tasks::Result;

/// The time limit of a program under valgrind; most take a second.
const VALGRIND_LIMIT: Duration = Duration::from_secs(600);

/// Runs a program or script, which must succeed.
pub(super) fn basic(suite: &Suite, line: &Line) -> Outcome {
    outcome(suite.programs.command(&line.program).and_then(|mut command| {
        let ended = run(&mut command, LIMIT)?;
        Ok((ended.end == End::Status(0), ended.describe()))
    }))
}

/// Exports a filter under valgrind.
pub(super) fn valgrind(suite: &Suite, line: &Line) -> Outcome {
    if !suite.has_valgrind {
        return Outcome::Skipped("valgrind is not installed".to_owned());
    }
    outcome(suite.programs.command(&line.program).and_then(|program| {
        let mut command = Command::new("valgrind");
        command.current_dir(suite.programs.directory());
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.args([
            "--quiet",
            "--tool=memcheck",
            "--error-exitcode=1",
            "--leak-check=full",
            "--read-var-info=yes",
            "--track-origins=yes",
            "--suppressions=valgrind_test.supp",
            "--",
        ]);
        let mut ended = run(command.arg(program.get_program()).arg("-b"), VALGRIND_LIMIT)?;
        // Warnings about syscalls that valgrind does not know, such as seccomp(2), explain no failure.
        let errors = ended.errors.lines().filter(|line| !line.starts_with("--"));
        ended.errors = errors.collect::<Vec<_>>().join("\n");
        Ok((ended.end == End::Status(0), ended.describe()))
    }))
}

/// Runs a program that installs a filter with an action, and violates it.
pub(super) fn live(suite: &Suite, line: &Line, level: u32, action: &str) -> Outcome {
    if suite.tools.api_level < level {
        let has = suite.tools.api_level;
        return Outcome::Skipped(format!("needs API level {level}, this machine has {has}"));
    }
    let Some(expected) = status(action) else {
        return Outcome::Errored(format!("unsupported action {action:?}"));
    };
    outcome(suite.programs.command(&line.program).and_then(|mut command| {
        let ended = run(command.arg(action), LIMIT)?;
        let is_expected = ended.end.shell_status() == Some(expected);
        Ok((
            is_expected,
            format!("expected {action} (status {expected}), got {}", ended.describe()),
        ))
    }))
}

/// The exit status that shows that the kernel took an action, as a shell reports it. The programs choose those of
/// the actions that do not kill.
fn status(action: &str) -> Option<i32> {
    Some(match action {
        "KILL" | "KILL_PROCESS" => 128 + libc::SIGSYS,
        "ALLOW" => 160,
        "TRAP" => 161,
        "ERRNO" => 163,
        "LOG" => 164,
        _ => return None,
    })
}

/// The outcome of a program that ran as expected or not, or did not run.
fn outcome(ended: Result<(bool, String)>) -> Outcome {
    match ended {
        Ok((true, _)) => Outcome::Passed,
        Ok((false, how)) => Outcome::Failed(how),
        Err(why) => Outcome::Errored(why),
    }
}
