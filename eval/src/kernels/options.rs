//! The options of `cargo xtask kernels`.

use std::path::PathBuf;

use super::guests::{GUESTS, Guest};
use super::verdicts::Depth;
use crate::task::Result;

/// What `cargo xtask kernels --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask kernels [OPTION]...

Boots kernels of Debian in emulation, compares the verdicts of programs inside
them with the reference interpreter, and counts what calls cost under filters:
in instructions of the guest, which are the same on any machine. Prints the
tables; a run of all guests writes docs/kernels.md, in a quarter of an hour.

  --kernel LIST    these kernels only: 5.10, 6.1, 6.12
  --arch LIST      these machines only: amd64, arm64, s390x
  --quick          fewer calls asked, and figures of one boot in place of three;
                   writes nothing
  --filters DIR    programs of others too: *.bpf, little-endian, for x86-64
  --weights FILE   how often calls happen: two columns, a table of strace -c or
                   perf trace -s, or a recording; default: the server of
                   `cargo xtask compare`
  --fetch          fetch the kernels anew
  --output DIR     write kernels.md there, whatever was run

examples:
  cargo xtask kernels
  cargo xtask kernels --kernel 5.10 --quick
  cargo xtask kernels --arch s390x,arm64 --output /tmp

It fetches each kernel once through a private apt configuration with this
system's own mirror, installs nothing, and keeps everything below target/kernels
(300 MB). CONTRIBUTING.md names the packages that it needs. A guest for which
something is missing is reported as not measured.
";

/// The options of one run.
#[derive(Debug, Default)]
pub(super) struct Options {
    kernels: Vec<String>,
    arches: Vec<String>,
    quick: bool,
    pub(super) filters: Option<PathBuf>,
    pub(super) weights: Option<PathBuf>,
    pub(super) fetch: bool,
    output: Option<PathBuf>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value =
                |what: &str| words.next().ok_or_else(|| format!("{word} needs {what} after it"));
            match word.as_str() {
                "--kernel" => {
                    let known = |guest: &Guest| guest.version.to_string();
                    options.kernels = list("kernel", value("a list of kernels")?, known)?;
                }
                "--arch" => {
                    let known = |guest: &Guest| guest.machine.name.to_owned();
                    options.arches = list("machine", value("a list of machines")?, known)?;
                }
                "--quick" => options.quick = true,
                "--fetch" => options.fetch = true,
                "--filters" => options.filters = Some(value("a directory")?.into()),
                "--weights" => options.weights = Some(value("a file")?.into()),
                "--output" => options.output = Some(value("a directory")?.into()),
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        if options.guests().next().is_none() {
            let all: Vec<String> = GUESTS.iter().map(Guest::name).collect();
            return Err(format!(
                "there is no such kernel on such a machine, but {}",
                all.join(", ")
            ));
        }
        Ok(options)
    }

    /// The guests that are booted.
    pub(super) fn guests(&self) -> impl Iterator<Item = &'static Guest> {
        let wanted =
            |list: &[String], name: &str| list.is_empty() || list.iter().any(|n| n == name);
        GUESTS.iter().filter(move |guest| {
            wanted(&self.kernels, &guest.version.to_string())
                && wanted(&self.arches, guest.machine.name)
        })
    }

    /// How many times each guest is booted.
    pub(super) fn boots(&self) -> usize {
        if self.quick { 1 } else { 3 }
    }

    /// How much a program is asked about.
    pub(super) fn depth(&self) -> Depth {
        if self.quick {
            Depth { calls: 4_000, random: 500 }
        } else {
            Depth { calls: 30_000, random: 5_000 }
        }
    }

    /// The directory of the document, when one is written.
    pub(super) fn document(&self, usual: impl FnOnce() -> PathBuf) -> Option<PathBuf> {
        let partial = self.quick || !self.kernels.is_empty() || !self.arches.is_empty();
        self.output.clone().or_else(|| (!partial).then(usual))
    }

    /// The command with names in place of the paths of this machine.
    pub(super) fn command(&self) -> String {
        let mut command = "cargo xtask kernels".to_owned();
        for (option, list) in [("--kernel", &self.kernels), ("--arch", &self.arches)] {
            if !list.is_empty() {
                command += &format!(" {option} {}", list.join(","));
            }
        }
        command += if self.quick { " --quick" } else { "" };
        command += if self.filters.is_some() { " --filters DIR" } else { "" };
        if let Some(path) = &self.weights {
            let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into());
            command += &format!(" --weights {name}");
        }
        command
    }
}

/// A list of names that some guest has.
fn list(what: &str, text: &str, name: impl Fn(&Guest) -> String) -> Result<Vec<String>> {
    let mut known: Vec<String> = GUESTS.iter().map(name).collect();
    known.dedup();
    let words = text.split(',').map(|word| {
        let is_known = known.iter().any(|name| name == word);
        is_known.then(|| word.to_owned()).ok_or_else(|| {
            let mut names = known.clone();
            names.sort();
            names.dedup();
            format!("there is no {what} {word:?}, but {}", names.join(", "))
        })
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options> {
        Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_choose_guests() {
        let names =
            |words: &[&str]| parse(words).unwrap().guests().map(Guest::name).collect::<Vec<_>>();
        assert_eq!(names(&[]).len(), GUESTS.len());
        assert_eq!(
            names(&["--kernel", "5.10,6.1", "--arch", "amd64"]),
            ["5.10 amd64", "6.1 amd64"]
        );
    }

    #[test]
    fn options_say_what_is_wrong() {
        for (words, expected) in [
            (&["--kernel"][..], "--kernel needs a list of kernels"),
            (&["--kernel", "5.11"], "there is no kernel \"5.11\", but 5.10, 6.1, 6.12"),
            (&["--arch", "amd64,"], "there is no machine \"\", but amd64, arm64, s390x"),
            (&["--kernel", "5.10", "--arch", "s390x"], "no such kernel on such a machine"),
            (&["--quik"], "unknown option \"--quik\""),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn only_a_whole_run_writes_the_document() {
        let document = |words: &[&str]| parse(words).unwrap().document(|| "docs".into());
        assert_eq!(document(&[]), Some("docs".into()));
        assert_eq!(document(&["--filters", "x"]), Some("docs".into()));
        assert_eq!(document(&["--quick"]), None);
        assert_eq!(document(&["--arch", "arm64"]), None);
        assert_eq!(document(&["--quick", "--output", "y"]), Some("y".into()));
    }

    #[test]
    fn the_command_names_no_paths() {
        let options = parse(&["--arch", "s390x", "--weights", "/a/b", "--filters", "/c"]).unwrap();
        let command = "cargo xtask kernels --arch s390x --filters DIR --weights b";
        assert_eq!(options.command(), command);
    }
}
