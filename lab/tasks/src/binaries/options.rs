//! The command line.

use std::path::PathBuf;

use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab binaries [--callgate FILE] [--only NAME]... [--details] [--update]

Records scripted uses of Debian's programs (lab/tasks/src/binaries/uses.txt), analyses the code of each program,
and compares both: the share of the recorded syscalls that the analysis has (recall), the share of its
syscalls that were recorded (precision), and their harmonic mean (F1). Prints the table in Markdown.
Programs that are not installed are left out. Programs in C, Rust and Go with threads and child processes
(lab/tasks/src/binaries/programs) are compiled with musl-gcc, gcc, rustc and go. Scripts run in empty directories; servers listen on
127.0.0.1, ports 6470 to 6479. Needs root for the recorder with the fewest losses.

  --callgate FILE  the program to measure, instead of a build of this tree
  --only NAME      only the uses with this name; may be repeated
  --details        also print the syscalls that were recorded but not found
  --update         write the table to lab/results/binaries.md
";

/// What the command line says.
pub(super) struct Options {
    pub(super) callgate: Option<PathBuf>,
    pub(super) only: Vec<String>,
    pub(super) details: bool,
    pub(super) update: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options =
            Options { callgate: None, only: Vec::new(), details: false, update: false };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| format!("{word} needs a value\n\n{HELP}"));
            match word.as_str() {
                "--callgate" => {
                    let path = PathBuf::from(value()?);
                    // Uses run in other directories.
                    let path =
                        path.canonicalize().map_err(|why| format!("{}: {why}", path.display()))?;
                    options.callgate = Some(path);
                }
                "--only" => options.only.push(value()?.clone()),
                "--details" => options.details = true,
                "--update" => options.update = true,
                _ => return Err(format!("unknown option: {word}\n\n{HELP}")),
            }
        }
        if options.update && !options.only.is_empty() {
            return Err("--update needs all uses: omit --only".to_owned());
        }
        Ok(options)
    }
}
