//! Options of `cargo lab converted`.

use std::path::PathBuf;

use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab converted [--lxc DIR] [--minijail DIR] [--snap PROGRAM] [--kafel PROGRAM]
                             [--random N] [--seed N] [FILE]...

Converts filters to the languages of other programs with --closest, compiles what was
written with these programs, and compares the result with the filter, or with what callgate
reads if something was lost: it must be the same MTBDD. The filters are those of the file
tests, the built-in profile, random policies and the given files, which are container
profiles (.json) or programs for x86-64 (.bpf). Runs on x86-64.

  --lxc DIR        a checkout of https://github.com/lxc/lxc (see cargo lab lxc)
  --minijail DIR   a checkout of minijail (see cargo lab minijail)
  --snap PROGRAM   snap-seccomp (see cargo lab snap)
  --kafel PROGRAM  dump_policy_bpf of Kafel (see cargo lab kafel)
  --random N       the number of random policies per language (default 200)
  --seed N         the seed, up to 255 (default 1)

The crate seccompiler is always compared. Names of new syscalls need a new libseccomp:
LD_LIBRARY_PATH=DIR, with a libseccomp.so.2 in DIR. libseccomp generates programs that
contradict its own rules where several rules of a syscall have ordered comparisons. With
the variable, our own library shows whether a difference is of that kind. The exit status
is 1 if a meaning differs.
";

/// The options that were given.
#[derive(Default)]
pub(super) struct Options {
    pub(super) lxc: Option<PathBuf>,
    pub(super) minijail: Option<PathBuf>,
    pub(super) snap: Option<PathBuf>,
    pub(super) kafel: Option<PathBuf>,
    pub(super) random: usize,
    pub(super) seed: u8,
    pub(super) files: Vec<PathBuf>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options { random: 200, seed: 1, ..Options::default() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                options.files.push(PathBuf::from(word));
                continue;
            }
            let value = words.next().ok_or_else(|| format!("missing value: {word} …"))?;
            let wrong = || format!("{word} takes a number, not {value:?}");
            match word.as_str() {
                "--lxc" => options.lxc = Some(PathBuf::from(value)),
                "--minijail" => options.minijail = Some(PathBuf::from(value)),
                "--snap" => options.snap = Some(PathBuf::from(value)),
                "--kafel" => options.kafel = Some(PathBuf::from(value)),
                "--random" => options.random = value.parse().map_err(|_| wrong())?,
                "--seed" => options.seed = value.parse().map_err(|_| wrong())?,
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        Ok(options)
    }
}
