//! Options of `cargo lab libseccomp-speed`.

use std::path::PathBuf;

use callgate_tasks::{Result, workspace};

pub(crate) const HELP: &str = "\
usage: cargo lab libseccomp-speed [OPTION]...

Measures a C program that makes filters, with this workspace's libseccomp.so.2, as it is released,
and with other libraries: for every rule set of `cargo lab compare` that libseccomp can express,
and for SCMP_FLTATR_CTL_OPTIMIZE 1 and 2. Prints a table in Markdown. Needs a C compiler.

Each context has a process of its own, and the libraries take turns. Shown are medians of: the time
up to the end of seccomp_load(3); that of seccomp_load(3) alone; page faults up to seccomp_load(3);
and, in the last column, the ratio of this workspace's time to that of each other library, whose
processes ran directly before.

  --library PATH   one more library
  --own PATH       instead of this workspace's library, for a comparison with an older one
  --header DIR     the headers [default: those of this workspace]
  --profiles DIR   more rule sets: container profiles or plain rules in *.json, rules in *.rules
  --set NAME       only the rule sets whose names contain this
  --rounds N       the number of processes per library, rule set and level [default: 200]
  --count          also machine instructions up to seccomp_load(3), by callgrind (valgrind)
";

/// The options of a run.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) own: Option<PathBuf>,
    pub(super) libraries: Vec<PathBuf>,
    pub(super) header: PathBuf,
    pub(super) profiles: Option<PathBuf>,
    pub(super) set: String,
    pub(super) rounds: usize,
    pub(super) count: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options {
            own: None,
            libraries: Vec::new(),
            header: workspace().join("crates/callgate-seccomp/include"),
            profiles: None,
            set: String::new(),
            rounds: 200,
            count: false,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} lacks a value"));
            match word.as_str() {
                "--own" => options.own = Some(value()?.into()),
                "--library" => options.libraries.push(value()?.into()),
                "--header" => options.header = value()?.into(),
                "--profiles" => options.profiles = Some(value()?.into()),
                "--set" => options.set = value()?.clone(),
                "--rounds" => {
                    let value = value()?;
                    options.rounds = value.parse().map_err(|_| format!("not a number: {value}"))?;
                }
                "--count" => options.count = true,
                _ => return Err(format!("unknown option: {word}\n\n{HELP}")),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_say_what_is_wrong() {
        let parse = |words: &[&str]| {
            Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(parse(&["--rounds", "3", "--count"]).unwrap().rounds, 3);
        for (words, expected) in [
            (&["--library"][..], "--library lacks a value"),
            (&["--rounds", "few"], "not a number: few"),
            (&["--libraries", "x"], "unknown option: --libraries"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
