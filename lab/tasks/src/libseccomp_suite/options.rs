//! Options of `cargo lab libseccomp-suite`.

use std::path::PathBuf;

use super::kind::Kind;
use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab libseccomp-suite [OPTION]...

Builds the regression tests of libseccomp, links them with a libseccomp.so.2, and runs
them. Exported filters are run by `cargo lab bpf-sim`'s simulator, which knows every
instruction that the kernel accepts. Needs a C compiler, and valgrind for the tests of
type bpf-valgrind. A complete run takes two minutes of processor time, mostly for valgrind.

  --library PATH         the library under test (default: that of callgate-seccomp, which is
                         built first)
  --source DIR           libseccomp's sources (default: Debian's source package 2.6.1-1, which
                         is downloaded once with a private apt configuration)
  --headers DIR          compile the tests with the seccomp.h and seccomp-syscalls.h of this
                         directory (default: those of the sources)
  --original-simulator   run filters with libseccomp's scmp_bpf_sim, and set
                         CALLGATE_SECCOMP_INSTRUCTIONS=basic for the library, so that it
                         generates only the instructions that scmp_bpf_sim knows
  --verify               also give each exported filter, with the rules of the program as a policy
                         text, to the checker that is proved in Coq (`verified/check` builds it);
                         it must accept all of them
  --type TYPE            only tests of this type: basic, bpf-sim, bpf-sim-fuzz, bpf-valgrind,
                         live; can be repeated
  --test TEST            only this test: its number or its name, 12 or 12-sim-basic_masked_ops;
                         can be repeated
  --seed N               the seed of the random syscalls of bpf-sim-fuzz (default 1)
  --verbose              print every failure, not only the first five of each test

Exits with 1 unless all tests that run on this machine pass. The programs of the tests stay
in target/libseccomp-suite/work until the next run.
";

/// The options of one run.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) library: Option<PathBuf>,
    pub(super) source: Option<PathBuf>,
    pub(super) headers: Option<PathBuf>,
    pub(super) original_simulator: bool,
    pub(super) verify: bool,
    kinds: Vec<Kind>,
    tests: Vec<String>,
    pub(super) seed: u64,
    pub(super) verbose: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options { seed: 1, ..Options::default() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("missing value: {word} …"));
            match word.as_str() {
                "--library" => options.library = Some(value()?.into()),
                "--source" => options.source = Some(value()?.into()),
                "--headers" => options.headers = Some(value()?.into()),
                "--original-simulator" => options.original_simulator = true,
                "--verify" => options.verify = true,
                "--type" => {
                    let name = value()?;
                    let names = Kind::ALL.map(Kind::name).join(", ");
                    let kind = Kind::from_name(name);
                    options.kinds.push(
                        kind.ok_or(format!("unknown test type {name:?}; known are {names}"))?,
                    );
                }
                "--test" => options.tests.push(value()?.clone()),
                "--seed" => {
                    let number = value()?;
                    let parsed = number.parse();
                    options.seed =
                        parsed.map_err(|_| format!("--seed takes a number, not {number:?}"))?;
                }
                "--verbose" => options.verbose = true,
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        Ok(options)
    }

    /// Whether tests of a type are selected.
    pub(super) fn has_kind(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    /// Whether the tests of a table are selected; the name of a table starts with its number.
    pub(super) fn has_test(&self, name: &str) -> bool {
        let number = name.split('-').next().unwrap_or(name);
        let is_meant = |test: &String| {
            test == name || test.trim_start_matches('0') == number.trim_start_matches('0')
        };
        self.tests.is_empty() || self.tests.iter().any(is_meant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_select_tests() {
        let options = parse("--type live --type basic --test 7 --test 12-sim-x").unwrap();
        assert_eq!(Kind::ALL.map(|kind| options.has_kind(kind)), [true, false, false, false, true]);
        let names = ["07-sim-y", "12-sim-x", "12-sim-xy", "70-sim-y", "17-sim-y"];
        assert_eq!(names.map(|name| options.has_test(name)), [true, true, false, false, false]);
        let options = parse("").unwrap();
        assert!(Kind::ALL.into_iter().all(|kind| options.has_kind(kind)));
        assert!(options.has_test("07-sim-y"));
    }

    #[test]
    fn options_say_what_is_wrong() {
        for (line, expected) in [
            ("--library", "missing value: --library …"),
            ("--type sim", "unknown test type \"sim\"; known are basic, bpf-sim, bpf-sim-fuzz"),
            ("--seed x", "--seed takes a number, not \"x\""),
            ("--fast", "unknown option \"--fast\""),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
