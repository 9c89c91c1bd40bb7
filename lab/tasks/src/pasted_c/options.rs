//! Options of `cargo lab pasted-c`.

use std::path::PathBuf;
use std::time::Duration;

use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab pasted-c [--cases N] [--seconds N] [--seed N] [FILE]...

Reads random texts in C, and the given files, with callgate's reader of pasted programs and
with gcc, and compares the arrays of instructions: the same, or callgate refuses the text.

  --cases N      the number of random texts (default 10000)
  --seconds N    stop after this time
  --seed N       the seed (default 1)

A third of the texts has what is usual in filters, another third anything that constant
expressions and the preprocessor allow. The rest changes the array in a function, which is
executed before the arrays are compared. The array of a file must be called `filter`.
The exit status is 1 if an array differs, or if more than 5 % of the usual texts or 25 % of
the others are refused. Refusals are listed by reason. gcc and the kernel's headers are
needed.
";

pub(super) struct Options {
    pub(super) cases: u64,
    pub(super) limit: Option<Duration>,
    pub(super) seed: u64,
    pub(super) files: Vec<PathBuf>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options { cases: 10_000, limit: None, seed: 1, files: Vec::new() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                options.files.push(PathBuf::from(word));
                continue;
            }
            let value = words.next().ok_or_else(|| format!("missing value: {word} …"))?;
            let number = value
                .parse::<u64>()
                .map_err(|_| format!("{word} takes a number, not {value:?}"))?;
            match word.as_str() {
                "--cases" => options.cases = number,
                "--seconds" => options.limit = Some(Duration::from_secs(number)),
                "--seed" => options.seed = number,
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_numbers_and_files() {
        let parse = |words: &[&str]| {
            Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        let options = parse(&["--cases", "5", "a.c", "--seconds", "9"]).unwrap();
        assert_eq!((options.cases, options.limit), (5, Some(Duration::from_secs(9))));
        assert_eq!(options.files, [PathBuf::from("a.c")]);
        assert!(parse(&["--cases"]).is_err() && parse(&["--cases", "x"]).is_err());
        assert!(parse(&["--other", "1"]).is_err());
    }
}
