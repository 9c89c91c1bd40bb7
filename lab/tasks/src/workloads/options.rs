//! The command line of the task.

use std::path::PathBuf;

use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab workloads [--runs N] [--recordings N] [--keep DIR] [WORKLOAD…]

Records programs (redis, nginx, a Go server, Java and others) twice, as
docs/reference/recording.md says, generates a profile with `--deny kill`, and runs the same
workload 20 times under it. A run fails if a server or a command is killed, or if its
client does not get the right answer. Then a process of user 65534 tries under the
profile to create each namespace by clone, clone3 and unshare. Prints a table: what was
granted, which dangerous syscalls that Docker's default profile denies, and whether
they were recorded. The exit status is 1 if a run fails, a namespace was created, or
something dangerous was granted that was not recorded.

Needs root, cc, and the programs, which are Debian's packages redis-server redis-tools
nginx-light postgresql sqlite3 git python3 nodejs golang default-jdk-headless curl
openssh-server openssh-client memcached xz-utils make gcc; omits others, and says so.

  --runs N        how often each workload runs under its profile (default 20)
  --recordings N  how often it is recorded (default 2)
  --keep DIR      keep recordings and profiles there
  WORKLOAD        only these, such as `redis`
";

/// The options of the task.
pub(super) struct Options {
    pub(super) runs: u32,
    pub(super) recordings: u32,
    pub(super) keep: Option<PathBuf>,
    /// Empty: all.
    pub(super) only: Vec<String>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options { runs: 20, recordings: 2, keep: None, only: Vec::new() };
        let mut words = arguments.iter();
        let number = |option: &str, word: Option<&String>| {
            let number = word.and_then(|word| word.parse().ok()).filter(|number| *number > 0);
            number.ok_or_else(|| format!("{option} needs a number from 1"))
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--runs" => options.runs = number(word, words.next())?,
                "--recordings" => options.recordings = number(word, words.next())?,
                "--keep" => {
                    options.keep = Some(words.next().ok_or("--keep needs a directory")?.into())
                }
                option if option.starts_with('-') => {
                    return Err(format!("unknown option {option}; see cargo lab workloads --help"));
                }
                workload => options.only.push(workload.to_owned()),
            }
        }
        Ok(options)
    }
}
