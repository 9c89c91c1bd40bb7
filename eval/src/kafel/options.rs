//! Options of `cargo xtask kafel`.

use std::path::PathBuf;

use callgate::Arch;

use crate::task::Result;

pub(crate) const HELP: &str = "\
usage: cargo xtask kafel --compiler PROGRAM [--policies N] [--seed N] [--arch ARCH] [FILE]...

Reads random Kafel policies, and the given files, with callgate's reader and with another
compiler, and compares their meaning: the program of the other compiler must have the
same MTBDD as our policy, and both must refuse the same policies.

  --compiler PROGRAM  reads a policy from standard input and prints the program as text that
                      callgate reads: Kafel's tools/dump_policy_bpf, which gets the argument -c
  --policies N        the number of random policies (default 1000)
  --seed N            the seed (default 1)
  --arch ARCH         the architecture for which PROGRAM compiles (default: native)

The exit status is 1 if a meaning differs. Refusals of one side are listed by reason.
";

pub(super) struct Options {
    pub(super) compiler: PathBuf,
    pub(super) policies: u64,
    pub(super) seed: u64,
    pub(super) arch: Arch,
    pub(super) files: Vec<PathBuf>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let (mut compiler, mut policies, mut seed, mut arch) = (None, 1000, 1, None);
        let mut files = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                files.push(PathBuf::from(word));
                continue;
            }
            let value = words.next().ok_or_else(|| format!("missing value: {word} …"))?;
            let number =
                || value.parse().map_err(|_| format!("{word} takes a number, not {value:?}"));
            match word.as_str() {
                "--compiler" => compiler = Some(PathBuf::from(value)),
                "--policies" => policies = number()?,
                "--seed" => seed = number()?,
                "--arch" => {
                    arch = Some(
                        Arch::from_name(value).ok_or(format!("unknown architecture {value:?}"))?,
                    );
                }
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        let compiler = compiler.ok_or("missing --compiler PROGRAM; try --help")?;
        let arch = arch.or_else(Arch::native).ok_or("give --arch")?;
        Ok(Options { compiler, policies, seed, arch, files })
    }
}
