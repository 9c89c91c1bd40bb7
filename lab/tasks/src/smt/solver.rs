//! Runs z3 and cvc5 with a time limit, and parses their answers.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use callgate::SeccompData;

use callgate_tasks::Result;
use callgate_tasks::files;

/// An installed solver.
pub(crate) struct Solver {
    name: &'static str,
    /// Its version line.
    pub(crate) version: String,
}

/// The answer of a solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    Unsat,
    Sat(Model),
    /// No answer within the limit.
    None,
}

/// A syscall, and the verdicts of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Model {
    pub(crate) data: SeccompData,
    pub(crate) verdicts: [u32; 2],
}

/// A running solver.
pub(crate) struct Running {
    name: &'static str,
    child: Child,
    output: PathBuf,
    end: Instant,
}

/// How long a solver may exceed its own limit.
const GRACE: Duration = Duration::from_secs(5);

impl Solver {
    /// Both solvers.
    pub(crate) fn all() -> Result<Vec<Solver>> {
        ["z3", "cvc5"].map(Solver::find).into_iter().collect()
    }

    fn find(name: &'static str) -> Result<Solver> {
        let version = files::run(Command::new(name).arg("--version"))
            .map_err(|error| format!("{error}; install it with: apt-get install z3 cvc5"))?;
        let version = version.lines().next().unwrap_or(name).to_owned();
        Ok(Solver { name, version })
    }

    /// Starts it on a script.
    pub(crate) fn start(&self, script: &Path, limit: Duration) -> Result<Running> {
        let output = script.with_extension(self.name);
        let file =
            File::create(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        let mut command = Command::new(self.name);
        match self.name {
            "z3" => command.arg(format!("-T:{}", limit.as_secs())),
            // Eager bit-blasting is faster for comparisons with constants than cvc5's default, which splits cases first.
            _ => command.args(["--bitblast=eager", &format!("--tlimit={}", limit.as_millis())]),
        };
        let child = command
            .arg(script)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", self.name))?;
        Ok(Running { name: self.name, child, output, end: Instant::now() + limit + GRACE })
    }
}

impl Running {
    /// Waits for the answer, and kills the solver at the limit.
    pub(crate) fn finish(mut self) -> Result<Answer> {
        let failed = |error| format!("{}: {error}", self.name);
        while self.child.try_wait().map_err(failed)?.is_none() {
            if Instant::now() > self.end {
                self.child.kill().and_then(|()| self.child.wait()).map_err(failed)?;
                return Ok(Answer::None);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let output = files::read(&self.output)?;
        answer(&String::from_utf8_lossy(&output)).map_err(|error| format!("{}: {error}", self.name))
    }
}

/// Reads an answer, and the values after `sat`.
fn answer(text: &str) -> Result<Answer> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    match first.trim() {
        "unsat" => return Ok(Answer::Unsat),
        "sat" => {}
        "" | "timeout" | "unknown" => return Ok(Answer::None),
        other if other.contains("timeout") => return Ok(Answer::None),
        other => return Err(format!("unexpected answer: {other}")),
    }
    let rest = rest.replace(['(', ')'], " ");
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (pairs, _) = words.as_chunks::<2>();
    let values: HashMap<&str, &str> = pairs.iter().map(|[name, value]| (*name, *value)).collect();
    let value = |name: &str| {
        let text = values.get(name).ok_or_else(|| format!("the model lacks {name}: {rest}"))?;
        let number = match (text.strip_prefix("#x"), text.strip_prefix("#b")) {
            (Some(digits), _) => u64::from_str_radix(digits, 16),
            (_, Some(digits)) => u64::from_str_radix(digits, 2),
            _ => return Err(format!("the value of {name} is {text}")),
        };
        number.map_err(|error| format!("the value of {name} is {text}: {error}"))
    };
    let mut args = [0; 6];
    for (number, arg) in args.iter_mut().enumerate() {
        *arg = value(&format!("arg{number}"))?;
    }
    Ok(Answer::Sat(Model {
        data: SeccompData {
            nr: value("nr")? as u32,
            arch: value("arch")? as u32,
            instruction_pointer: value("instruction_pointer")?,
            args,
        },
        verdicts: [value("verdict_a")? as u32, value("verdict_b")? as u32],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_both_solvers_are_read() {
        let z3 = "sat\n((nr #x0000003b)\n (arch #xc000003e)\n (instruction_pointer #x0000000000000000)\n \
            (arg0 #x0000000000000007)\n (arg1 #x0000000000000000)\n (arg2 #x0000000000000000)\n \
            (arg3 #x0000000000000000)\n (arg4 #x0000000000000000)\n (arg5 #xffffffffffffffff)\n \
            (verdict_a #x7fff0000)\n (verdict_b #x00050001))\n";
        let args = [7, 0, 0, 0, 0, u64::MAX];
        let data = SeccompData { nr: 59, arch: 0xc000_003e, args, ..SeccompData::default() };
        let model = Model { data, verdicts: [0x7fff_0000, 0x5_0001] };
        assert_eq!(answer(z3), Ok(Answer::Sat(model)));
        let cvc5 = z3.replace("#x0000003b", &format!("#b{:032b}", 59));
        assert_eq!(answer(&cvc5), Ok(Answer::Sat(model)));
        let unsat = "unsat\n(error \"line 9 column 3: model is not available\")\n";
        assert_eq!(answer(unsat), Ok(Answer::Unsat));
        assert_eq!(answer("timeout\n"), Ok(Answer::None));
        assert_eq!(answer("cvc5 interrupted by timeout.\n"), Ok(Answer::None));
        assert!(answer("sat\n((nr #x0000003b))\n").unwrap_err().contains("arg0"));
        assert!(answer("(error \"line 1\")\n").is_err());
    }
}
