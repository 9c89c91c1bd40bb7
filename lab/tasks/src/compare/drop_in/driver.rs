//! The C program that makes filters, built for one library.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{make, output, write};

const SOURCE: &str = include_str!("driver.c");
const RULES: &str = include_str!("../drivers/libseccomp/rules.h");

/// The exit status of a driver if its library cannot express the rules.
const CANNOT_EXPRESS: i32 = 3;

/// A driver.
pub(super) struct Driver {
    program: PathBuf,
}

/// What a driver answers about rules.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    /// The lengths of a program, and the processor time of each round in microseconds.
    Made { insns: usize, times: Vec<f64> },
    /// The library cannot express the rules, with its message.
    Refused(String),
    /// The library needs seconds.
    Slow,
}

impl Driver {
    /// Compiles the driver, and links it with a copy of a library.
    pub(super) fn build(place: &Path, headers: &Path, library: &Path) -> Result<Driver> {
        make(place)?;
        // Page faults of a copied file take less time than those of a file that a linker wrote: it is in larger parts in memory.
        let link = place.join("libseccomp.so.2");
        std::fs::copy(library, &link).map_err(|why| format!("{}: {why}", library.display()))?;
        write(&place.join("driver.c"), SOURCE)?;
        write(&place.join("rules.h"), RULES)?;
        let program = place.join("driver");
        let mut command = Command::new("cc");
        command.args(["-O2", "-o"]).arg(&program).arg("-I").arg(headers);
        command.arg(place.join("driver.c")).arg(&link);
        output(command.arg(format!("-Wl,-rpath,{}", place.display())))?;
        Ok(Driver { program })
    }

    /// Makes filters of the rules in a file.
    pub(super) fn make(&self, rules: &Path, rounds: usize) -> Result<Answer> {
        let mut command = Command::new(&self.program);
        command.arg(rules).arg(rounds.to_string());
        let ended = command.output().map_err(|why| format!("{}: {why}", self.program.display()))?;
        if ended.status.code() == Some(CANNOT_EXPRESS) {
            return Ok(Answer::Refused(String::from_utf8_lossy(&ended.stderr).trim().to_owned()));
        }
        if !ended.status.success() {
            let errors = String::from_utf8_lossy(&ended.stderr);
            return Err(format!("{}: {}", self.program.display(), errors.trim()));
        }
        answer(&String::from_utf8_lossy(&ended.stdout))
    }

    /// The processor time of a process that is only linked with the library, until its `main`, in microseconds.
    pub(super) fn load(&self) -> Result<f64> {
        let printed = output(Command::new(&self.program).arg("nothing"))?;
        let time = printed.trim().parse::<f64>();
        Ok(time.map_err(|_| format!("the driver printed {printed:?}"))? / 1e3)
    }
}

/// Reads what a driver prints.
fn answer(text: &str) -> Result<Answer> {
    if text.lines().any(|line| line == "slow") {
        return Ok(Answer::Slow);
    }
    let mut times = Vec::new();
    let mut len = None;
    for line in text.lines().filter(|line| !line.starts_with("unknown ")) {
        let numbers = line.split_once(' ').and_then(|(time, insns)| {
            Some((time.parse::<f64>().ok()?, insns.parse::<usize>().ok()?))
        });
        let (time, insns) = numbers.ok_or_else(|| format!("the driver printed {line:?}"))?;
        if len.is_some_and(|known| known != insns) {
            return Err(format!(
                "programs of the same rules have {len:?} and {insns} instructions"
            ));
        }
        len = Some(insns);
        times.push(time / 1e3);
    }
    let insns = len.ok_or("the driver printed no round")?;
    Ok(Answer::Made { insns, times })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let made = Answer::Made { insns: 12, times: vec![1.5, 2.0] };
        assert_eq!(answer("unknown x86_64 7\n1500 12\n2000 12\n"), Ok(made));
        assert_eq!(answer("1500 12\nslow\n"), Ok(Answer::Slow));
        assert!(answer("1500 12\n2000 13\n").unwrap_err().contains("and 13 instructions"));
        assert!(answer("many\n").unwrap_err().contains("many"));
        assert!(answer("").is_err());
    }
}
