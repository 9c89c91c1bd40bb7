//! Options of the tasks that generate tables from downloaded sources.

use std::path::PathBuf;

use callgate_tasks::Result;

/// The options of one run.
#[derive(Debug, Default)]
pub(crate) struct GeneratorOptions {
    /// Compare, and write nothing.
    pub(crate) check: bool,
    /// Download the sources again.
    pub(crate) fetch: bool,
    /// The directory of the sources.
    pub(crate) sources: Option<PathBuf>,
    /// Other options with a directory, in the order in which the task names them.
    pub(crate) directories: Vec<Option<PathBuf>>,
}

impl GeneratorOptions {
    /// Parses `--check`, `--fetch`, `--sources DIR`, and the options of this task that take a directory, too.
    pub(crate) fn parse(arguments: &[String], directories: &[&str]) -> Result<GeneratorOptions> {
        let none = vec![None; directories.len()];
        let mut options = GeneratorOptions { directories: none, ..GeneratorOptions::default() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut directory =
                || words.next().map(PathBuf::from).ok_or(format!("missing value: {word} DIR"));
            let own = directories.iter().position(|known| known == word);
            match (word.as_str(), own) {
                ("--check", _) => options.check = true,
                ("--fetch", _) => options.fetch = true,
                ("--sources", _) => options.sources = Some(directory()?),
                (_, Some(own)) => options.directories[own] = Some(directory()?),
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_say_what_is_wrong() {
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            GeneratorOptions::parse(&words, &["--headers"])
        };
        let options = parse(&["--check", "--sources", "x", "--headers", "y"]).unwrap();
        assert!(options.check && !options.fetch);
        assert_eq!(options.sources, Some(PathBuf::from("x")));
        assert_eq!(options.directories, [Some(PathBuf::from("y"))]);
        assert!(parse(&["--headers"]).unwrap_err().contains("missing value: --headers DIR"));
        assert!(parse(&["--sources"]).unwrap_err().contains("missing value: --sources DIR"));
        assert!(parse(&["--chekc"]).unwrap_err().contains("--chekc"));
        let other = ["--headers".to_owned(), "y".to_owned()];
        assert!(GeneratorOptions::parse(&other, &[]).is_err());
    }
}
