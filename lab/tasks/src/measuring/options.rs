//! The options that both tasks have.

use std::path::PathBuf;
use std::time::Duration;

use callgate_experiments::libseccomp::Libseccomp;
use callgate_measure::{Cold, allowed_cpus};
use callgate_tasks::Result;

use super::output::SamplesFile;
use crate::libseccomp_program::of_machine;

/// The options and the other words of a command line.
#[derive(Debug)]
pub(super) struct Options {
    /// The name and the sources.
    pub(super) words: Vec<String>,
    pub(super) time: Option<Duration>,
    pub(super) quick: bool,
    /// The processor to measure on; none to not pin processes.
    pub(super) cpu: Option<usize>,
    pub(super) seed: u64,
    /// In percent.
    pub(super) precision: Option<f64>,
    pub(super) html: Option<PathBuf>,
    pub(super) samples: Option<SamplesFile>,
    pub(super) json: bool,
    /// The amount of data with `--cold=SIZE`, in MiB; none for that of the machine.
    pub(super) cold: Option<Option<usize>>,
    pub(super) weights: Option<PathBuf>,
    libseccomp: Option<PathBuf>,
    pub(super) load: Option<String>,
    pub(super) threads: Option<u32>,
    /// Whether the share of CPU time is computed as well.
    pub(super) share: bool,
}

impl Options {
    /// Parses a command line with these options besides those that both tasks have.
    pub(super) fn parse(arguments: &[String], further: &[&str]) -> Result<Options> {
        let mut options = Options {
            words: Vec::new(),
            time: None,
            quick: false,
            cpu: allowed_cpus().pop(),
            seed: 1,
            precision: None,
            html: None,
            samples: None,
            json: false,
            cold: None,
            weights: None,
            libseccomp: None,
            load: None,
            threads: None,
            share: false,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let (name, given) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            if name.starts_with("--") && !COMMON.contains(&name) && !further.contains(&name) {
                return Err(format!("unknown option {name}; try --help"));
            }
            let mut value = || {
                let value = given.clone().or_else(|| words.next().cloned());
                value.ok_or_else(|| format!("{name} needs a value"))
            };
            match name {
                "--time" => {
                    let seconds = number(name, &value()?, 1..=86_400)?;
                    options.time = Some(Duration::from_secs(seconds));
                }
                "--quick" => options.quick = true,
                "--cpu" => options.cpu = processor(&value()?)?,
                "--seed" => options.seed = number(name, &value()?, 0..=u64::MAX)?,
                "--precision" => {
                    let percent = value()?.parse().ok();
                    let percent = percent.filter(|percent| (0.1..=100.0).contains(percent));
                    options.precision =
                        Some(percent.ok_or("--precision needs a percentage from 0.1 to 100")?);
                }
                "--html" => options.html = Some(value()?.into()),
                "--samples" => options.samples = Some(SamplesFile::new(&value()?)?),
                "--json" => options.json = true,
                "--cold" => {
                    let most = (Cold::MOST >> 20) as u64;
                    let size = given.as_deref().map(|size| number(name, size, 1..=most));
                    options.cold = Some(size.transpose()?.map(|size| size as usize));
                }
                "--weights" => options.weights = Some(value()?.into()),
                "--libseccomp" => options.libseccomp = Some(value()?.into()),
                "--share" => options.share = true,
                "--load" => options.load = Some(value()?),
                "--threads" => {
                    options.threads = Some(number(name, &value()?, 1..=64)? as u32);
                }
                _ => options.words.push(word.clone()),
            }
        }
        Ok(options)
    }

    /// What is evicted before each syscall, if anything.
    pub(super) fn cold(&self) -> Option<Cold> {
        let of_machine = Cold::of_machine(self.cpu);
        self.cold.map(|size| size.map_or(of_machine, |size| of_machine.with_data(size << 20)))
    }

    /// The library that makes the baselines.
    pub(super) fn libseccomp(&self) -> Libseccomp {
        let of_machine = of_machine();
        match &self.libseccomp {
            Some(path) => of_machine.with_library(path),
            None => of_machine,
        }
    }

    /// The maximum width of confidence intervals, as a share.
    pub(super) fn precision(&self) -> f64 {
        let roughly = self.cold.is_some() || self.quick;
        self.precision.unwrap_or(if roughly { 10.0 } else { 3.0 }) / 100.0
    }
}

const COMMON: [&str; 9] = [
    "--libseccomp",
    "--time",
    "--quick",
    "--cpu",
    "--seed",
    "--precision",
    "--html",
    "--samples",
    "--json",
];

fn number(name: &str, text: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64> {
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("{name} needs a number from {} to {}", range.start(), range.end())),
    }
}

fn processor(text: &str) -> Result<Option<usize>> {
    if text == "any" {
        return Ok(None);
    }
    let allowed = allowed_cpus();
    match text.parse() {
        Ok(number) if allowed.contains(&number) => Ok(Some(number)),
        _ => Err(format!("--cpu {text}: expected any, or one of {allowed:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Options::parse(&words, &["--cold", "--weights"])
    }

    #[test]
    fn options_and_words_are_told_apart() {
        let options = parse(&["getpid", "--time", "7", "a.bpf", "--cold=64", "--cpu=any"]).unwrap();
        assert_eq!(options.words, ["getpid", "a.bpf"]);
        assert_eq!((options.time, options.cpu), (Some(Duration::from_secs(7)), None));
        assert_eq!(options.cold, Some(Some(64)));
        assert_eq!(parse(&["--cold", "getpid"]).unwrap().words, ["getpid"]);
        assert_eq!(parse(&["--quick"]).unwrap().precision(), 0.1);
    }

    #[test]
    fn errors_name_the_option() {
        for (words, why) in [
            (["--time", "0"], "--time needs a number from 1"),
            (["--load", "ro"], "unknown option --load"),
            (["--samples", "a.txt"], "--samples a.txt: expected .csv"),
            (["getpid", "--seed"], "--seed needs a value"),
            (["--cpu", "100000"], "--cpu 100000: expected any"),
            (["--precision", "0"], "--precision needs"),
        ] {
            let error = parse(&words).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
