//! Options of `cargo lab yaml` and `cargo lab json`.

use std::path::PathBuf;
use std::time::Duration;

use callgate_tasks::Result;

macro_rules! help {
    ($task:literal, $theirs:literal, $who:literal) => {
        concat!(
            "usage: cargo lab ",
            $task,
            " [--cases N] [--seconds N] [--seed N] [FILE]...\n\nReads random profiles in many forms, also damaged ones, and \
             the given files, with callgate's\nreader and with ",
            $theirs,
            ", as ",
            $who,
            " use it (go and, the first\ntime, a network). What both accept must mean the same, and what the other reader \
             refuses\nmust be refused.\n\n  --cases N    the number of profiles (default 100000; with --seconds no \
             limit)\n  --seconds N  at most N seconds\n  --seed N     the seed (default 1)\n\nThe exit status is 1 if a \
             profile is accepted only here, or means something else. The\nsmallest text that shows it is printed.\n"
        )
    };
}

pub(crate) const YAML_HELP: &str =
    help!("yaml", "Go's sigs.k8s.io/yaml", "kubectl and the Security Profiles Operator");
pub(crate) const JSON_HELP: &str =
    help!("json", "Go's encoding/json and sigs.k8s.io/json", "Docker, Podman, runc and kubectl");

/// The number of profiles by default.
const CASES: u64 = 100_000;

pub(super) struct Options {
    pub(super) cases: u64,
    pub(super) limit: Option<Duration>,
    pub(super) seed: u64,
    pub(super) files: Vec<PathBuf>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let (mut cases, mut limit, mut seed, mut files) = (None, None, 1, Vec::new());
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                files.push(PathBuf::from(word));
                continue;
            }
            let value = words.next().ok_or_else(|| format!("missing number: {word} N"))?;
            let number = || {
                value.parse::<u64>().map_err(|_| format!("{word} takes a number, not {value:?}"))
            };
            match word.as_str() {
                "--cases" => cases = Some(number()?),
                "--seconds" => limit = Some(Duration::from_secs(number()?)),
                "--seed" => seed = number()?,
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        let default = if limit.is_some() { u64::MAX } else { CASES };
        Ok(Options { cases: cases.unwrap_or(default), limit, seed, files })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<(u64, Option<u64>, u64, usize)> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let options = Options::parse(&words)?;
        Ok((
            options.cases,
            options.limit.map(|limit| limit.as_secs()),
            options.seed,
            options.files.len(),
        ))
    }

    #[test]
    fn a_limit_of_time_replaces_the_number() {
        assert_eq!(parse(&[]), Ok((100_000, None, 1, 0)));
        assert_eq!(parse(&["--seconds", "25", "a", "b"]), Ok((u64::MAX, Some(25), 1, 2)));
        assert_eq!(
            parse(&["--seconds", "25", "--cases", "7", "--seed", "3"]),
            Ok((7, Some(25), 3, 0))
        );
        for wrong in [&["--cases"][..], &["--cases", "x"], &["--first", "1"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
