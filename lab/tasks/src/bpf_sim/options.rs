//! The command line of `cargo lab bpf-sim`.

use std::path::PathBuf;

use callgate::Arch;

use super::number::number;
use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab bpf-sim [-a ARCH] -f FILE -s NR [-0 VALUE] ... [-5 VALUE] [-v]

Runs an exported seccomp filter on a syscall and prints the verdict: ALLOW, ERRNO(1),
KILL, KILL_PROCESS, LOG, NOTIFY, TRACE(1), TRAP. The command line is that of
libseccomp's scmp_bpf_sim, but any filter that the kernel accepts can be run.

  -a ARCH    the architecture of the syscall and the byte order of the filter
             (default: that of this machine)
  -f FILE    the filter, as seccomp_export_bpf writes it
  -s NR      the number of the syscall
  -0 VALUE   an argument of the syscall, -0 to -5 (default 0)
  -v         also print the number of executed instructions, to standard error

Numbers are read as C's strtoull(3) reads them, so text that follows one is ignored:
libseccomp's fuzz tests pass such numbers.
";

/// A syscall, and the filter to run on it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) arch: Arch,
    pub(super) file: PathBuf,
    pub(super) nr: u32,
    pub(super) args: [u64; 6],
    pub(super) verbose: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let (mut arch, mut file, mut nr) = (Arch::native(), None, None);
        let (mut args, mut verbose) = ([0; 6], false);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "-v" {
                verbose = true;
                continue;
            }
            let option = word.strip_prefix('-').and_then(|rest| rest.chars().next());
            let option = option.filter(char::is_ascii_alphanumeric);
            let option =
                option.ok_or_else(|| format!("unexpected argument {word:?}; try --help"))?;
            // As with getopt(3), a value may immediately follow the option.
            let value = match &word[2..] {
                "" => words.next().ok_or_else(|| format!("missing value: {word} VALUE"))?,
                value => value,
            };
            match option {
                'a' => {
                    let known = Arch::from_name(value);
                    arch = Some(known.ok_or_else(|| format!("unknown architecture {value:?}"))?);
                }
                'f' => file = Some(PathBuf::from(value)),
                // The kernel's field is an `int`.
                's' => nr = Some(number(value).0 as u32),
                '0'..='5' => args[option as usize - '0' as usize] = number(value).0,
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        Ok(Options {
            arch: arch.ok_or("missing architecture: -a ARCH")?,
            file: file.ok_or("missing filter: -f FILE")?,
            nr: nr.ok_or("missing syscall: -s NR")?,
            args,
            verbose,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_syscall_is_read() {
        let expected = Options {
            arch: Arch::S390x,
            file: "x.bpf".into(),
            nr: u32::MAX,
            args: [3, 0, 0, 0, 0, 0x10],
            verbose: true,
        };
        assert_eq!(parse("-a s390x -f x.bpf -s -1 -0 3fa9 -5 0x10 -v"), Ok(expected));
        assert_eq!(parse("-fx -s7").unwrap().nr, 7);
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (line, expected) in [
            ("-f x", "missing syscall: -s NR"),
            ("-s 1", "missing filter: -f FILE"),
            ("-s 1 -f", "missing value: -f VALUE"),
            ("-a vax", "unknown architecture \"vax\""),
            ("-6 1", "unknown option \"-6\""),
            ("x", "unexpected argument \"x\""),
            ("-", "unexpected argument \"-\""),
            ("-ä x", "unexpected argument \"-ä\""),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with(expected), "{line}: {error}");
        }
    }
}
