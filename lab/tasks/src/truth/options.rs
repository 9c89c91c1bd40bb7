//! The command line.

use std::time::Duration;

use callgate_tasks::Result;

use super::cases::CASES;

pub(crate) const HELP: &str = "\
usage: cargo lab truth [--experiment NAME]... [--runs N] [--quiet N]
                       [--time SECONDS] [--load N] [--json]

Measures the overhead of filters with a loop in C, which is timed by the CPU time of its thread, and
shares no code with Callgate. That is the truth. Then repeats what `cargo lab experiment` measures,
first on the machine as it is, which should have nothing else to do, then beside busy loops on every
processor. Counts in how many runs

  a figure was claimed: given without the remarks 'rough' and 'not resolved',
  a claimed estimate was within 10 % or 3 ns of the truth,
  the 95 % interval contained the truth,
  an overhead was called resolved and was wrong: all of its interval is further away than that.

Exits with 1 if less than 90 % of the claimed estimates are within, or less than 90 % of the intervals
contain the truth, or one was wrong.

  --experiment NAME  getpid, unixbench-syscall or condwait; repeat it for several (default: all)
  --runs N           the number of runs of each (default 100)
  --quiet N          of those on the machine as it is (default: as --runs)
  --time SECONDS     the time of a run, at least 0.1 (default 5); the C loop takes 8 times as long
  --load N           busy loops per processor (default 2); 0 for the machine as it is alone
  --json             print JSON

Needs cc. Ctrl-C reports what was measured so far.
";

/// What the command line says.
#[derive(Debug, PartialEq)]
pub(super) struct Options {
    /// The names of experiments; empty for all.
    pub(super) experiments: Vec<String>,
    /// Beside the load.
    pub(super) runs: usize,
    /// On the machine as it is.
    pub(super) quiet: usize,
    pub(super) time: Duration,
    /// Busy loops per processor.
    pub(super) load: usize,
    pub(super) json: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options {
            experiments: Vec::new(),
            runs: 100,
            quiet: 100,
            time: Duration::from_secs(5),
            load: 2,
            json: false,
        };
        let mut quiet = None;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--experiment" => {
                    let name = value()?;
                    if !CASES.iter().any(|case| case.experiment.name() == name) {
                        return Err(format!(
                            "--experiment {name}: there is no truth for it; try --help"
                        ));
                    }
                    options.experiments.push(name.clone());
                }
                "--runs" => options.runs = number(word, value()?, 1, 10_000)?,
                "--quiet" => quiet = Some(number(word, value()?, 1, 10_000)?),
                "--load" => options.load = number(word, value()?, 0, 16)?,
                "--time" => {
                    let text = value()?;
                    let seconds = text.parse().ok().filter(|time| (0.1..=3600.0).contains(time));
                    let seconds = seconds.ok_or_else(|| {
                        format!("--time needs a number of seconds from 0.1 to 3600, not {text}")
                    })?;
                    options.time = Duration::from_secs_f64(seconds);
                }
                "--json" => options.json = true,
                _ => return Err(format!("unknown option {word}; try --help")),
            }
        }
        options.quiet = quiet.unwrap_or(options.runs);
        Ok(options)
    }
}

fn number(name: &str, text: &str, least: usize, most: usize) -> Result<usize> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("{name} needs a number from {least} to {most}, not {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Options> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn options_have_defaults_and_limits() {
        let options = parse("--experiment getpid --time 0.5 --experiment condwait").unwrap();
        assert_eq!(options.experiments, ["getpid", "condwait"]);
        assert_eq!((options.runs, options.quiet, options.load), (100, 100, 2));
        assert_eq!(options.time, Duration::from_millis(500));
        let options = parse("--quiet 5 --runs 50").unwrap();
        assert_eq!((options.runs, options.quiet), (50, 5));
        assert_eq!(parse("--runs 50").unwrap().quiet, 50);
        for (words, why) in [
            ("--experiment weighted", "there is no truth for it"),
            ("--runs 0", "--runs needs a number from 1"),
            ("--time 0.01", "from 0.1 to 3600"),
            ("--time", "--time needs a value"),
            ("now", "unknown option now"),
        ] {
            assert!(parse(words).unwrap_err().contains(why), "{words}");
        }
    }
}
