//! The command line.

use std::path::PathBuf;

use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab drop-in [OPTION]...

Makes the random rule sets of `cargo lab tournament` filters with this workspace's libseccomp.so.2,
as it is released, and with the original, both at their default level; each in a process of its own.
Compares the lengths of the programs, and the processor time from seccomp_init(3) until the program
is exported, with that of loading the library. What is promised:

  length  at most 1.05 times the original's, and 2 instructions
  time    at most 1.1 times the original's, or 100 microseconds more

Prints the distributions, and the worst rows. A row in which the original's program contradicts its
rules, as it does for some ordered comparisons, counts neither as longer nor as shorter.

  --seed S           the seed (default 1)
  --sets N           the number of sets (default 300)
  --only K           only the set with this number
  --rounds N         the number of processes per library and set; the median counts (default 5)
  --rows N           the number of worst rows that are printed (default 10)
  --keep DIR         keep the rules of each set in this directory, and the original's program
  --own PATH         instead of this workspace's library
  --original PATH    instead of that of the machine
";

/// What the command line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) seed: u64,
    pub(super) sets: usize,
    pub(super) only: Option<usize>,
    pub(super) rounds: usize,
    pub(super) rows: usize,
    pub(super) keep: Option<PathBuf>,
    pub(super) own: Option<PathBuf>,
    pub(super) original: PathBuf,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let directory = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let mut options = Options {
            seed: 1,
            sets: 300,
            only: None,
            rounds: 5,
            rows: 10,
            keep: None,
            own: None,
            original: PathBuf::from(directory).join("libseccomp.so.2"),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} lacks a value"));
            let number = |text: &String| {
                let number = text.parse().ok().filter(|number| (0..=100_000).contains(number));
                number.ok_or_else(|| format!("{word} needs a number up to 100000, not {text}"))
            };
            match word.as_str() {
                "--seed" => options.seed = number(value()?)? as u64,
                "--sets" => options.sets = number(value()?)?,
                "--only" => options.only = Some(number(value()?)?),
                "--rounds" => options.rounds = number(value()?)?.max(1),
                "--rows" => options.rows = number(value()?)?,
                "--keep" => options.keep = Some(value()?.into()),
                "--own" => options.own = Some(value()?.into()),
                "--original" => options.original = value()?.into(),
                _ => return Err(format!("unknown option {word}; try --help")),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_defaults_and_limits() {
        let parse = |words: &[&str]| {
            Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        let parsed =
            parse(&["--seed", "7", "--rounds", "0", "--own", "a.so", "--keep", "k"]).unwrap();
        assert_eq!((parsed.seed, parsed.sets, parsed.rounds), (7, 300, 1));
        assert_eq!((parsed.own, parsed.keep), (Some("a.so".into()), Some("k".into())));
        for (words, why) in [
            (&["--sets"][..], "--sets lacks a value"),
            (&["--sets", "many"], "not many"),
            (&["--rows", "100001"], "up to 100000"),
            (&["now"], "unknown option now"),
        ] {
            assert!(parse(words).unwrap_err().contains(why), "{words:?}");
        }
    }
}
