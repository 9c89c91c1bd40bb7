//! Options of `cargo xtask constants`.

use std::path::PathBuf;

use callgate_eval::Result;

/// What `cargo xtask constants --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask constants [--check] [--fetch] [--sources DIR]

Writes crates/callgate-bpf/src/constants/generated/constants.txt from the kernel's headers:
the names and values of AF_*, CLONE_*, PROT_*, TIOC* and others, per architecture.

  --check        write nothing; fail if the generated file would change, or if the headers of
                 this machine's C library have other values
  --fetch        download the sources again (default: only if DIR lacks them)
  --sources DIR  the directory of the sources; default: target/constant-sources

Downloads Debian's newest linux-libc-dev, and linux-headers-*-common for the few constants
that the uapi headers lack (suite sid), with a private apt configuration and this system's
mirror and keyring; installs nothing and does not need root. It needs gcc for x86-64, or
another gcc that is named in $CC and accepts -m32 and -m64.
";

/// The options of one run.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) check: bool,
    pub(super) fetch: bool,
    pub(super) sources: Option<PathBuf>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--check" => options.check = true,
                "--fetch" => options.fetch = true,
                "--sources" => {
                    let directory = words.next().ok_or("missing value: --sources DIR")?;
                    options.sources = Some(PathBuf::from(directory));
                }
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
            Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert!(parse(&["--check", "--sources", "x"]).unwrap().check);
        assert!(parse(&["--sources"]).unwrap_err().contains("--sources DIR"));
        assert!(parse(&["--chekc"]).unwrap_err().contains("--chekc"));
    }
}
