//! The command line.

use std::path::PathBuf;

use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab startup [--rounds N] [--libseccomp DIR] [--update]

Measures programs that install the same filter of eleven rules with two variables: source code in C, Rust
and Go that Callgate emitted, its macro and its Go module, gVisor's pkg/seccomp with and without
precompilation, the crate seccompiler with and without, and libseccomp from C and Go. Each round starts
each program once, in random order; times are medians of N rounds (default 1000). Prints two tables in
Markdown:

  the time until the filter is ready, the two system calls prctl(PR_SET_NO_NEW_PRIVS) and seccomp(2), from
  before fork to the installed filter, and from before fork to the end of the process;
  lines that the user writes, instructions, the verdicts for other ABIs, and the size of the program.

As root, reads the installed filters from the processes, and proves that all of them implement the policy.

  --rounds N        the number of rounds
  --libseccomp DIR  where libseccomp is installed: DIR has include/ and lib/
  --update          write the tables to lab/results/startup.md

Needs cc, strip and cargo; go for programs in Go. Programs are built in target/startup, with libraries at
fixed versions, which cargo and go fetch. What cannot be had is left out, and listed below the tables.
";

/// What the command line says.
pub(super) struct Options {
    pub(super) rounds: usize,
    pub(super) libseccomp: Option<PathBuf>,
    pub(super) update: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options { rounds: 1000, libseccomp: None, update: false };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| format!("{word} needs a value\n\n{HELP}"));
            match word.as_str() {
                "--rounds" => {
                    let text = value()?;
                    let rounds = text.parse().ok().filter(|rounds| *rounds > 0);
                    options.rounds = rounds
                        .ok_or_else(|| format!("--rounds is not a positive number: {text}"))?;
                }
                "--libseccomp" => {
                    let path = PathBuf::from(value()?);
                    // The programs are linked in other directories.
                    let path =
                        path.canonicalize().map_err(|why| format!("{}: {why}", path.display()))?;
                    options.libseccomp = Some(path);
                }
                "--update" => options.update = true,
                _ => return Err(format!("unknown option: {word}\n\n{HELP}")),
            }
        }
        Ok(options)
    }
}
