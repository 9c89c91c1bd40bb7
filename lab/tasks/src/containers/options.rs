//! Options of `cargo lab containers`.

use super::runtime;
use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab containers [--profiles N] [--seed N] [--first N] [--runtime NAME]...

Starts containers under random profiles with runc and crun, reads the installed filters,
and compares them, for all syscalls, with callgate's programs for `runc:` and `crun:`.
Callgate must refuse a profile that a runtime refuses. Needs root and the runtimes, and
fails without one of them. Containers end after at most a minute; the next run removes
those of an interrupted one.

Up to version 2.6.1, libseccomp's program may contradict its own rules, which are known
defects. Then the rules are decisive, and the profile is counted separately. Profiles for
which libseccomp hangs are not started, and are counted too.

  --profiles N     the number of profiles per runtime (default 200)
  --seed N         the seed (default 1)
  --first N        the number of the first profile (default 0)
  --runtime NAME   runc or crun (default: both)
";

pub(super) struct Options {
    pub(super) profiles: u64,
    pub(super) seed: u64,
    pub(super) first: u64,
    pub(super) runtimes: Vec<&'static str>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options { profiles: 200, seed: 1, first: 0, runtimes: Vec::new() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("missing value: {word} …"))?;
            let number =
                || value.parse().map_err(|_| format!("{word} takes a number, not {value:?}"));
            match word.as_str() {
                "--profiles" => options.profiles = number()?,
                "--seed" => options.seed = number()?,
                "--first" => options.first = number()?,
                "--runtime" => {
                    let name = runtime::NAMES.into_iter().find(|name| name == value);
                    options.runtimes.push(name.ok_or("--runtime takes runc or crun")?);
                }
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        if options.runtimes.is_empty() {
            options.runtimes = runtime::NAMES.to_vec();
        }
        Ok(options)
    }
}
