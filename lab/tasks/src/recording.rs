//! `cargo lab recording`: the slowdown of programs that are recorded, compared with strace.

mod others;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::machine;
use crate::table::{Table, time};
use callgate_tasks::files::{make, write};
use callgate_tasks::{Result, workspace};

pub(crate) const HELP: &str = "\
usage: cargo lab recording [--others] [--rounds N] [--only TEXT]

Runs commands without a recorder, under `callgate record` with each of its methods,
and under `strace -f -o /dev/null`, in turn. Prints the median times as a table in
Markdown, as in lab/results/recording.md. Omits commands that are not installed and methods
that are not permitted. Redis listens on port 6397 of 127.0.0.1 meanwhile. The machine
should be otherwise idle.

  --others     instead, measure the cost of eBPF recording for processes that are not
               recorded: `getpid` with 0, 1, 2 and 4 recorders; needs root
  --rounds N   the number of runs of each (default 9)
  --only TEXT  only the commands whose name in the table contains TEXT
";

const PORT: &str = "6397";
const REQUESTS: &str = "20000";

/// The time limit for a server to answer.
const PATIENCE: Duration = Duration::from_secs(10);

struct Method {
    name: &'static str,
    /// The prefix of the command; `callgate` stands for the program.
    words: &'static [&'static str],
}

/// The first is the baseline.
const METHODS: [Method; 5] = [
    Method { name: "not recorded", words: &[] },
    Method {
        name: "tracepoint",
        words: &["callgate", "record", "--via", "tracepoint", "-o", "/dev/null", "--"],
    },
    Method {
        name: "listener",
        words: &["callgate", "record", "--via", "ptrace", "-o", "/dev/null", "--"],
    },
    Method {
        name: "stops",
        words: &["callgate", "record", "--via", "stops", "-o", "/dev/null", "--"],
    },
    Method { name: "strace", words: &["strace", "-f", "-o", "/dev/null"] },
];

struct Load {
    name: &'static str,
    words: &'static [&'static str],
    /// Whether it is a server, whose client is timed.
    serves: bool,
}

const LOADS: [Load; 7] = [
    Load { name: "make, 200 processes", words: &["make", "-sf", "one.mk"], serves: false },
    Load {
        name: "make -j2, 600 processes",
        words: &["make", "-sj2", "-f", "three.mk"],
        serves: false,
    },
    Load {
        name: "make -j4, 40 compilations",
        words: &["make", "-sBj4", "-f", "cc.mk"],
        serves: false,
    },
    Load {
        name: "sh, 300 processes",
        words: &["sh", "-c", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done"],
        serves: false,
    },
    Load { name: "git, 30 commits and logs", words: &["sh", "-ec", GIT], serves: false },
    Load {
        name: "dd, 60,000 syscalls",
        words: &["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=30000"],
        serves: false,
    },
    Load {
        name: "redis-benchmark, 20,000 requests",
        words: &["redis-server", "--port", PORT, "--bind", "127.0.0.1", "--save", ""],
        serves: true,
    },
];

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut others, mut rounds, mut only) = (false, 9, "");
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--others" => others = true,
            "--rounds" => {
                let number = words.next().and_then(|number| number.parse().ok());
                rounds = number.filter(|rounds| *rounds > 0).ok_or("--rounds needs a number")?;
            }
            "--only" => only = words.next().ok_or("--only needs a text")?,
            _ => return Err(format!("unknown option {word:?}; see cargo lab recording --help")),
        }
    }
    let table = if others { others::table(&build()?, rounds)? } else { programs(rounds, only)? };
    for line in machine::lines() {
        println!("{line}");
    }
    println!("\n{}", table.markdown());
    Ok(())
}

/// The times of the programs whose name contains `only`, with each method.
fn programs(rounds: usize, only: &str) -> Result<Table> {
    let directory = workspace().join("target/recording");
    make(&directory)?;
    write(&directory.join("one.mk"), makefile(200, "/bin/true"))?;
    write(&directory.join("three.mk"), makefile(200, "sh -c '/bin/true; /bin/true'"))?;
    write(&directory.join("cc.mk"), makefile(40, "cc -O1 -c hello.c -o $@.o"))?;
    write(&directory.join("hello.c"), HELLO)?;
    let callgate = build()?;
    let mut table =
        Table::new(std::iter::once("command").chain(METHODS.iter().map(|method| method.name)));
    for load in LOADS.iter().filter(|load| load.name.contains(only)) {
        eprintln!("recording: {}", load.name);
        let mut times = [const { Vec::new() }; METHODS.len()];
        for _ in 0..rounds {
            for (method, times) in METHODS.iter().zip(&mut times) {
                times.extend(once(load, method, &callgate, &directory));
            }
        }
        let medians = times.map(median);
        let Some(unrecorded) = medians[0] else {
            eprintln!("recording: not measured, because it fails: {}", load.name);
            continue;
        };
        let cell = |median: &Option<Duration>| match median {
            None => "-".to_owned(),
            Some(median) => {
                let ratio = median.as_secs_f64() / unrecorded.as_secs_f64();
                format!("{} ({ratio:.2})", time(*median))
            }
        };
        let cells = medians[1..].iter().map(cell);
        table.row([load.name.to_owned(), time(unrecorded)].into_iter().chain(cells));
    }
    Ok(table)
}

/// Builds the release version of the program.
pub(crate) fn build() -> Result<PathBuf> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "-p", "callgate-cli"])
        .current_dir(workspace())
        .status();
    match status {
        Ok(status) if status.success() => Ok(workspace().join("target/release/callgate")),
        _ => Err("cannot build callgate".to_owned()),
    }
}

/// Commits changes of 100 files, and reads the history, in a new repository.
const GIT: &str = "\
rm -rf repository; git init -q repository; cd repository
git config user.name n; git config user.email e@example
i=0; while [ $i -lt 100 ]; do echo $i >file$i; i=$((i+1)); done; git add .; git commit -qm first
i=0; while [ $i -lt 30 ]; do
  echo $i >>file$i; git commit -qam $i; git log --stat -3 >log; git status -s >status; git diff HEAD^ >diff
  i=$((i+1))
done
";

const HELLO: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) { return puts(\"hello\"); }
";

/// A makefile with this many equal targets.
fn makefile(targets: usize, recipe: &str) -> String {
    let names: Vec<String> = (0..targets).map(|number| format!("t{number}")).collect();
    let rules: String = names.iter().map(|name| format!("{name}:\n\t@{recipe}\n")).collect();
    format!("all: {}\n{rules}", names.join(" "))
}

/// The time of a load; `None` if it does not run with this method.
fn once(load: &Load, method: &Method, callgate: &Path, directory: &Path) -> Option<Duration> {
    let mut words = method.words.iter().chain(load.words);
    let mut command = match *words.next()? {
        "callgate" => Command::new(callgate),
        program => Command::new(program),
    };
    command.args(words).current_dir(directory).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    if load.serves {
        // A server that is not ours is neither measured nor stopped.
        return if answers() { None } else { served(&mut command.spawn().ok()?) };
    }
    command.status().is_ok_and(|status| status.success()).then(|| start.elapsed())
}

/// The time of the client of a server.
fn served(server: &mut Child) -> Option<Duration> {
    let start = Instant::now();
    while !answers() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    let start = Instant::now();
    let has_run = client("redis-benchmark", &["-q", "-t", "get", "-c", "20", "-n", REQUESTS]);
    let time = start.elapsed();
    if !client("redis-cli", &["shutdown", "nosave"]) {
        let _ = server.kill();
    }
    let _ = server.wait();
    has_run.then_some(time)
}

/// Whether a server accepts connections.
fn answers() -> bool {
    client("redis-cli", &["ping"])
}

fn client(program: &str, words: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(["-p", PORT]).args(words).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn median(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort();
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let times = [5, 1, 3].map(Duration::from_secs);
        assert_eq!(median(times.to_vec()), Some(Duration::from_secs(3)));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn makefiles_have_two_hundred_rules() {
        let text = makefile(200, "true");
        assert_eq!(text.matches(":\n\t@true\n").count(), 200);
        assert!(text.starts_with("all: t0 t1 "));
    }
}
