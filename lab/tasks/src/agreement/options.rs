//! Options of the evaluations of readers.

use std::path::PathBuf;

use callgate::Arch;

use callgate_tasks::Result;

/// The options that a task accepts beside --seed and files.
pub(crate) struct Accepted {
    /// The option with the other compiler or its sources, which must be given, and how its value is called.
    pub(crate) compiler: Option<(&'static str, &'static str)>,
    /// The option with the number of random texts.
    pub(crate) number: &'static str,
    /// The number of random texts by default.
    pub(crate) default: u64,
    pub(crate) has_arch: bool,
    pub(crate) has_library: bool,
}

/// The options that were given.
pub(crate) struct Options {
    /// Empty if the task does not accept it.
    pub(crate) compiler: PathBuf,
    pub(crate) library: Option<PathBuf>,
    /// The number of random texts.
    pub(crate) number: u64,
    pub(crate) seed: u64,
    pub(crate) arch: Option<Arch>,
    pub(crate) files: Vec<PathBuf>,
}

impl Options {
    pub(crate) fn parse(arguments: &[String], accepted: &Accepted) -> Result<Options> {
        let mut options = Options {
            compiler: PathBuf::new(),
            library: None,
            number: accepted.default,
            seed: 1,
            arch: None,
            files: Vec::new(),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                options.files.push(PathBuf::from(word));
                continue;
            }
            let value = words.next().ok_or_else(|| format!("missing value: {word} …"))?;
            let number =
                || value.parse().map_err(|_| format!("{word} takes a number, not {value:?}"));
            match word.as_str() {
                "--seed" => options.seed = number()?,
                word if word == accepted.number => options.number = number()?,
                word if accepted.compiler.is_some_and(|(name, _)| name == word) => {
                    options.compiler = PathBuf::from(value);
                }
                "--library" if accepted.has_library => options.library = Some(PathBuf::from(value)),
                "--arch" if accepted.has_arch => {
                    let unknown = || format!("unknown architecture {value:?}");
                    options.arch = Some(Arch::from_name(value).ok_or_else(unknown)?);
                }
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        match accepted.compiler {
            Some((name, value)) if options.compiler.as_os_str().is_empty() => {
                Err(format!("missing {name} {value}; try --help"))
            }
            _ => Ok(options),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCEPTED: Accepted = Accepted {
        compiler: Some(("--compiler", "PROGRAM")),
        number: "--policies",
        default: 10,
        has_arch: true,
        has_library: false,
    };

    fn parse(words: &[&str]) -> Result<Options> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Options::parse(&words, &ACCEPTED)
    }

    #[test]
    fn a_task_has_only_the_options_that_it_accepts() {
        let words =
            ["--compiler", "c", "a", "--policies", "3", "--arch", "arm", "--seed", "7", "b"];
        let options = parse(&words).unwrap();
        assert_eq!((options.number, options.seed, options.arch), (3, 7, Some(Arch::Arm)));
        assert_eq!(options.files, [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!(parse(&["--compiler", "c"]).unwrap().number, 10);
        for wrong in [
            &[][..],
            &["--compiler"],
            &["--compiler", "c", "--library", "l"],
            &["--compiler", "c", "--policies", "x"],
            &["--compiler", "c", "--arch", "x"],
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
