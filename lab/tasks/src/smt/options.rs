//! Options of `cargo lab smt`.

use std::path::PathBuf;
use std::time::Duration;

use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab smt [--policies N] [--seed N] [--seconds N] [--limit N] [--data DIR]

Asks z3 and cvc5 whether filters and their compiled programs are equivalent, and compares
their answers with callgate's: first for the profiles, file tests and programs of the
repository, then for random policies, stacks of two policies, and random programs. Each
filter is also compared with a broken program; if a solver finds a difference, the
reference interpreter must confirm it for the syscall of the model. Needs z3 and cvc5
(Debian: z3, cvc5).

  --policies N   the number of random policies (default 1000; with --seconds unlimited)
  --seed N       the seed (default 1)
  --seconds N    start no further comparison after N seconds
  --limit N      time limit of a solver per script in seconds (default 60); scripts without
                 an answer are listed, but are not errors
  --data DIR     also compare all profiles (*.json) and programs (*.bpf) in a directory

The exit status is 1 if an answer is wrong.
";

pub(super) struct Options {
    pub(super) policies: Option<u64>,
    pub(super) seed: u64,
    pub(super) seconds: Option<u64>,
    pub(super) limit: Duration,
    pub(super) data: Option<PathBuf>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options {
            policies: None,
            seed: 1,
            seconds: None,
            limit: Duration::from_secs(60),
            data: None,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("missing value: {word} …"))?;
            let number =
                || value.parse().map_err(|_| format!("{word} takes a number, not {value:?}"));
            match word.as_str() {
                "--policies" => options.policies = Some(number()?),
                "--seed" => options.seed = number()?,
                "--seconds" => options.seconds = Some(number()?),
                "--limit" => options.limit = Duration::from_secs(number()?.max(1)),
                "--data" => options.data = Some(PathBuf::from(value)),
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        Ok(options)
    }
}
