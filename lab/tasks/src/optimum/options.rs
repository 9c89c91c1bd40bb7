//! Options of `cargo lab optimum`.

use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab optimum [--instances N] [--seed N] [--budget N] [--worst N] [--update]

Compares the generator's programs for small random functions of one word with the best
programs: those with the fewest instructions, and those with the lowest expected cost.
Prints a page in Markdown that defines the class of programs, with the mean and the worst
difference for each kind of functions, and the functions with the worst difference.

  --instances N  the number of random functions in all (default 10000), besides all 255
                 sets of 3-bit values
  --seed N       the seed (default 1)
  --budget N     the number of sets of values that the search for one program considers
                 before it ends without a result (default 20000)
  --worst N      the number of functions that are shown for each kind (default 2)
  --update       write lab/results/optimum.md

The exit status is 1 if a program is not proved.
";

#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) instances: usize,
    pub(super) seed: u64,
    pub(super) budget: u64,
    pub(super) worst: usize,
    pub(super) update: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options =
            Options { instances: 10_000, seed: 1, budget: 20_000, worst: 2, update: false };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--update" {
                options.update = true;
                continue;
            }
            let value = words.next().ok_or_else(|| format!("missing value: {word} …"))?;
            let number =
                || value.parse().map_err(|_| format!("{word} takes a number, not {value:?}"));
            match word.as_str() {
                "--instances" => options.instances = number()? as usize,
                "--seed" => options.seed = number()?,
                "--budget" => options.budget = number()?,
                "--worst" => options.worst = number()? as usize,
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        Ok(options)
    }
}
