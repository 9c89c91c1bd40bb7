//! The options of `cargo lab kernels`.

use std::path::PathBuf;

use super::guests::{GUESTS, Guest};
use super::verdicts::Depth;
use callgate_tasks::Result;

/// What `cargo lab kernels --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo lab kernels [OPTION]...
       cargo lab kernels costs [--update | --check] [OPTION]...
       cargo lab kernels specification [OPTION]...

Boots Debian kernels in emulation, compares the verdicts of programs inside them
with the reference interpreter, and measures the cost of syscalls under filters
in guest instructions, which are the same on any machine. Prints the tables; a
run of all guests also writes lab/results/kernels.md and takes 15 minutes.

  --kernel LIST    only these kernels: 5.10, 6.1, 6.12
  --arch LIST      only these machines: amd64, arm64, s390x
  --quick          compare fewer syscalls, measure one boot instead of three, and
                   do not write the report
  --filters DIR    more programs: *.bpf, little-endian, for x86-64
  --weights FILE   frequencies of syscalls: two columns, a table of strace -c or
                   perf trace -s, or a recording; default: the server workload of
                   `cargo lab compare`
  --fetch          download the kernels again
  --output DIR     write kernels.md there, even for a part of the guests

`costs` measures what each form of an instruction costs in each kernel, and
prints, updates or checks two tables: lab/tasks/src/kernels/measured.rs, and
that of the code generator, crates/callgate-codegen/src/measured.rs.

`specification` compares what the kernels return for 30,000 calls each (4,000 with
--quick) of random programs with Spec.v, the specification of the checker that is
proved in Coq. It needs verified/build/spec-run, which `verified/check` builds.

examples:
  cargo lab kernels
  cargo lab kernels costs --check
  cargo lab kernels --kernel 5.10 --quick
  cargo lab kernels --arch s390x,arm64 --output /tmp

Each kernel is downloaded once, with a private apt configuration and this
system's mirror, to target/kernels (300 MB); nothing is installed.
CONTRIBUTING.md lists the required packages. A guest that cannot be booted is
reported as not measured.
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
            let mut value = |what: &str| words.next().ok_or_else(|| format!("{word} needs {what}"));
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
                "no guest has this kernel and this machine; the guests are {}",
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

    /// The number of boots of each guest.
    pub(super) fn boots(&self) -> usize {
        if self.quick { 1 } else { 3 }
    }

    /// The number of syscalls for which a program is compared.
    pub(super) fn depth(&self) -> Depth {
        if self.quick {
            Depth { calls: 4_000, random: 500 }
        } else {
            Depth { calls: 30_000, random: 5_000 }
        }
    }

    /// Whether this is not a whole run.
    pub(super) fn is_partial(&self) -> bool {
        self.quick || !self.kernels.is_empty() || !self.arches.is_empty()
    }

    /// The directory of the report, if it is to be written.
    pub(super) fn document(&self, usual: impl FnOnce() -> PathBuf) -> Option<PathBuf> {
        self.output.clone().or_else(|| (!self.is_partial()).then(usual))
    }

    /// The command line, with names in place of paths.
    pub(super) fn command(&self) -> String {
        let mut command = "cargo lab kernels".to_owned();
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

/// Parses a list of names of guests.
fn list(what: &str, text: &str, name: impl Fn(&Guest) -> String) -> Result<Vec<String>> {
    let mut known: Vec<String> = GUESTS.iter().map(name).collect();
    known.dedup();
    let words = text.split(',').map(|word| {
        let is_known = known.iter().any(|name| name == word);
        is_known.then(|| word.to_owned()).ok_or_else(|| {
            let mut names = known.clone();
            names.sort();
            names.dedup();
            format!("unknown {what} {word:?}; known are {}", names.join(", "))
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
            (&["--kernel", "5.11"], "unknown kernel \"5.11\"; known are 5.10, 6.1, 6.12"),
            (&["--arch", "amd64,"], "unknown machine \"\"; known are amd64, arm64, s390x"),
            (&["--kernel", "5.10", "--arch", "s390x"], "no guest has this kernel and this machine"),
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
        let command = "cargo lab kernels --arch s390x --filters DIR --weights b";
        assert_eq!(options.command(), command);
    }
}
