//! Asks the installed libseccomp.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use callgate::Arch;
use callgate_formats::ruleset::Op;

use super::answer::Answer;
use super::random::Rule;
use callgate_tasks::Result;

const DRIVER: &str = include_str!("driver.c");

pub(super) fn build(directory: &Path) -> Result<PathBuf> {
    let (source, driver) = (directory.join("driver.c"), directory.join("driver"));
    std::fs::write(&source, DRIVER).map_err(|error| format!("{}: {error}", source.display()))?;
    let status = Command::new("cc")
        .args(["-O2", "-o"])
        .args([&driver, &source])
        .arg("-lseccomp")
        .status()
        .map_err(|error| format!("cc: {error}"))?;
    if status.success() { Ok(driver) } else { Err(format!("cc: {status}")) }
}

pub(super) fn ask(driver: &Path, arguments: &[&str], question: &str) -> Result<String> {
    let failed = |error: std::io::Error| format!("{}: {error}", driver.display());
    let mut child = Command::new(driver)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut input = child.stdin.take().ok_or("no standard input")?;
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(question.as_bytes()));
        child.wait_with_output()
    })
    .map_err(failed)?;
    if !output.status.success() {
        return Err(format!("{}: {}", driver.display(), output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

pub(super) fn parse(line: &str) -> Result<Answer> {
    match line.split_once(' ') {
        Some(("-1", _)) => Ok(Answer::Taken),
        Some(("-2", _)) => Ok(Answer::Unknown),
        // EEXIST
        Some((place, "17")) => {
            place.parse().map(Answer::Refused).map_err(|_| format!("answer {line:?}"))
        }
        _ => Err(format!("libseccomp: answer {line:?}")),
    }
}

pub(super) fn text(arches: &[Arch], rules: &[Rule]) -> String {
    let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
    let mut text = format!("set {}\n", names.join(" "));
    for rule in rules {
        text += &format!("rule {} {:#x}", rule.name, rule.verdict.0);
        for test in &rule.comparisons {
            let (op, value, datum) = match test.op() {
                Op::Ne => (1, test.value(), 0),
                Op::Lt => (2, test.value(), 0),
                Op::Le => (3, test.value(), 0),
                Op::Eq => (4, test.value(), 0),
                Op::Ge => (5, test.value(), 0),
                Op::Gt => (6, test.value(), 0),
                Op::MaskedEq(mask) => (7, mask, test.value()),
            };
            text += &format!(" {} {op} {value:#x} {datum:#x}", test.arg());
        }
        text.push('\n');
    }
    text + "end\n"
}
