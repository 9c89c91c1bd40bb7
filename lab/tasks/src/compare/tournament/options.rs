//! The command line.

use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab tournament [--seed S] [--sets N] [--only K] [--rows N] [--update]

Draws random rule sets: denylists, allowlists, families of sockets, commands of ioctl with and
without a stride, masks, ordered and 64-bit comparisons of one to six arguments, mixes, and
container profiles with changes, of 1 to 400 rules. Compiles each with libseccomp (list and tree),
gVisor, seccompiler, go-seccomp-bpf and seacomb, as far as they are installed, and compares each
program with Callgate's for the same function. A peer is ahead

  in size   if Callgate's program for size is longer by more than 2 % and one instruction,
  in speed  if its program executes over 3 % less for the permitted syscalls for which every kernel
            runs the filter, and is at most 1.5 times as long as Callgate's program for speed,
  in time   if it takes less than half, and saves a millisecond.

Prints the totals by kind, the rows in which a peer is ahead, the furthest first, what Callgate
refuses, and what takes it longer than half a second.

  --seed S    the seed (default 1)
  --sets N    the number of sets (default 300)
  --only K    only the set with this number, with all of its rows
  --rows N    the number of rows that are printed (default 20)
  --update    write the totals of this seed into lab/results/tournament.md

The peers are built below target/compare, as by `cargo lab compare`.
";

/// What the command line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) seed: u64,
    pub(super) sets: usize,
    pub(super) only: Option<usize>,
    pub(super) rows: usize,
    pub(super) update: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options { seed: 1, sets: 300, only: None, rows: 20, update: false };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--update" {
                options.update = true;
                continue;
            }
            let mut number = |most: usize| {
                let text = words.next().ok_or_else(|| format!("{word} needs a number"))?;
                let number = text.parse().ok().filter(|number| *number <= most);
                number.ok_or_else(|| format!("{word} needs a number up to {most}, not {text}"))
            };
            match word.as_str() {
                "--seed" => options.seed = number(usize::MAX)? as u64,
                "--sets" => options.sets = number(100_000)?,
                "--only" => options.only = Some(number(100_000)?),
                "--rows" => options.rows = number(100_000)?,
                _ => return Err(format!("unknown option {word}; try --help")),
            }
        }
        match (options.update, options.only) {
            (true, Some(_)) => Err("--update needs all sets of a seed; omit --only".to_owned()),
            _ => Ok(options),
        }
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
        let expected = Options { seed: 7, sets: 300, only: Some(3), rows: 20, update: false };
        assert_eq!(parse(&["--seed", "7", "--only", "3"]), Ok(expected));
        for (words, why) in [
            (&["--sets"][..], "--sets needs a number"),
            (&["--sets", "many"], "not many"),
            (&["--sets", "100001"], "up to 100000"),
            (&["now"], "unknown option now"),
            (&["--update", "--only", "3"], "omit --only"),
        ] {
            assert!(parse(words).unwrap_err().contains(why), "{words:?}");
        }
    }
}
