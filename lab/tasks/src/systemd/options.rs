//! Options of the task.

use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab systemd [--suite SUITE] [--random N] [--seed N]

Starts units under Debian's systemd, reads the filters of their processes, and compares each with
the filter that Callgate reads from the unit. Runs as root on x86-64; needs unshare, chroot and cc.

--suite SUITE  the suite of Debian; may be repeated [default: bookworm (252), trixie (257)]
--random N     the number of random units, besides the fixed ones [default: 100]
--seed N       the seed of the random units [default: 1]
";

/// What is compared.
pub(super) struct Options {
    pub(super) suites: Vec<String>,
    pub(super) random: usize,
    pub(super) seed: u64,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options { suites: Vec::new(), random: 100, seed: 1 };
        let mut rest = arguments.iter();
        while let Some(option) = rest.next() {
            let value = rest.next().ok_or_else(|| format!("{option} needs a value; try --help"))?;
            let invalid = |_| format!("{option} needs a number, not {value:?}");
            match option.as_str() {
                "--suite" => options.suites.push(value.clone()),
                "--random" => options.random = value.parse().map_err(invalid)?,
                "--seed" => options.seed = value.parse().map_err(invalid)?,
                _ => return Err(format!("unexpected argument {option:?}; try --help")),
            }
        }
        if options.suites.is_empty() {
            options.suites = ["bookworm", "trixie"].map(str::to_owned).to_vec();
        }
        Ok(options)
    }
}
