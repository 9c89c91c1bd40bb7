//! The command line of the task.

use std::path::PathBuf;

use callgate_tasks::{Result, workspace};

pub(crate) const HELP: &str = "\
usage: cargo lab suites [--update] [--recordings DIR] [PROGRAM…]

Downloads the sources of Debian packages, and records each test of their test suites
with the installed program (`callgate record --split`). Each test is a run. Two thirds
of the runs, at random, become a profile; the others are checked with it, and what it
denies is compared with the estimate of `callgate generate`. Prints a table in
Markdown. Omits programs that are not installed. The tests are those of the programs'
authors: run them on a machine where a failing one does no harm.

  --recordings DIR  keep the recordings there, and use those that exist
                    (default target/suites/recordings)
  --update          write the table into lab/results/unseen.md
  PROGRAM           only these, such as `sed`
";

/// The options of the task.
pub(super) struct Options {
    pub(super) recordings: PathBuf,
    pub(super) update: bool,
    /// Empty: all.
    pub(super) programs: Vec<String>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options {
            recordings: workspace().join("target/suites/recordings"),
            update: false,
            programs: Vec::new(),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--update" => options.update = true,
                "--recordings" => {
                    options.recordings =
                        words.next().ok_or("--recordings wants a directory")?.into();
                }
                option if option.starts_with('-') => {
                    return Err(format!("unknown option {option}; see cargo lab suites --help"));
                }
                program => options.programs.push(program.to_owned()),
            }
        }
        if options.update && !options.programs.is_empty() {
            return Err("--update writes the rows of all programs; omit the names".to_owned());
        }
        Ok(options)
    }
}
