//! Options of `cargo xtask syscalls`.

use std::path::PathBuf;

use callgate_eval::Result;

/// What `cargo xtask syscalls --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask syscalls [--check] [--fetch] [--sources DIR] [--headers DIR]

Writes crates/callgate-bpf/src/syscalls/generated/*.rs from three sources:
  numbers    the kernel's uapi headers of all architectures
  versions   the table of the man page syscalls(2)
  arguments  /sys/kernel/tracing/events/syscalls of an x86-64 kernel

  --check        write nothing; fail if a generated file would change
  --fetch        download the sources again (default: only if DIR lacks them)
  --sources DIR  the directory of the sources; default: target/syscall-sources
  --headers DIR  take the numbers from this unpacked linux-libc-dev, with the
                 directories usr/lib/linux/uapi/ARCH/asm and usr/include/linux

Downloads Debian's newest linux-libc-dev and manpages-dev (suite sid) with a private apt
configuration and this system's mirror and keyring; installs nothing and does not need root.
The arguments need a mounted tracefs that this user may read.
";

/// The options of one run.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) check: bool,
    pub(super) fetch: bool,
    pub(super) sources: Option<PathBuf>,
    pub(super) headers: Option<PathBuf>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut directory =
                || words.next().map(PathBuf::from).ok_or(format!("missing value: {word} DIR"));
            match word.as_str() {
                "--check" => options.check = true,
                "--fetch" => options.fetch = true,
                "--sources" => options.sources = Some(directory()?),
                "--headers" => options.headers = Some(directory()?),
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
        assert!(parse(&["--check", "--headers", "x"]).unwrap().check);
        assert!(parse(&["--headers"]).unwrap_err().contains("missing value: --headers DIR"));
        assert!(parse(&["--chekc"]).unwrap_err().contains("--chekc"));
    }
}
