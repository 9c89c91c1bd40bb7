//! A program that was recorded with one C library runs with another one under the generated profile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use callgate_testing::{Need, Skip, TestResult};

const CALLGATE: &str = env!("CARGO_BIN_EXE_callgate");

/// Uses stdio, allocates and frees memory, looks up files, waits, forks and raises a signal.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t raised;
static void handler(int signal) { raised = signal; }
int main(int argc, char **argv) {
    char line[256], *large = malloc(300000);
    struct stat status;
    struct timespec nap = {0, 1000};
    struct pollfd none = {-1, 0, 0};
    FILE *file = fopen("/proc/self/status", "re");
    if (!file || !fgets(line, sizeof line, file) || !large) return 3;
    fclose(file);
    memset(large, 1, 300000);
    large = realloc(large, 900000);
    free(large);
    if (stat("/", &status) || poll(&none, 1, 1) || nanosleep(&nap, 0)) return 4;
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    if (raised != SIGUSR1) return 5;
    pid_t child = fork();
    if (child < 0) return 6;
    if (child == 0) _exit(7);
    int ended;
    if (waitpid(child, &ended, 0) != child || WEXITSTATUS(ended) != 7) return 8;
    if (isatty(1)) return 9;
    printf("all is well\n");
    return fflush(stdout) ? 10 : 0;
}
"#;

struct Ground(PathBuf);

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Ground {
    fn run(&self, program: &str, args: &[&str]) -> Option<Output> {
        Command::new("timeout").arg("60").arg(program).args(args).current_dir(&self.0).output().ok()
    }

    fn callgate(&self, args: &[&str]) -> Output {
        self.run(CALLGATE, args).unwrap()
    }
}

fn is_well(output: &Output) -> bool {
    output.status.success() && output.stdout == b"all is well\n"
}

/// Builds the program with each library, and records it.
fn build_and_record(ground: &Ground, builds: &[(&str, &str)]) -> TestResult {
    for (compiler, program) in builds {
        let args = ["-static", "-O1", "-o", program, "program.c"];
        if !ground.run(compiler, &args).is_some_and(|output| output.status.success()) {
            let reason = format!("{compiler} cannot build a static program");
            return Err(Skip::new(Need::Tool, reason));
        }
        let recording = format!("{program}.json");
        let own = format!("./{program}");
        let recorded =
            ground.callgate(&["record", "--via", "ptrace", "-o", &recording, "--", &own]);
        if !is_well(&recorded) {
            let reason = String::from_utf8_lossy(&recorded.stderr).into_owned();
            assert!(reason.contains("not permitted"), "{reason}");
            return Err(Skip::new(Need::Ptrace, reason));
        }
    }
    Ok(())
}

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![programs_run_with_the_other_library_under_their_profile]
}

fn programs_run_with_the_other_library_under_their_profile() -> TestResult {
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("libraries-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path)
        .map_err(|why| Skip::new(Need::Tool, format!("{}: {why}", path.display())))?;
    let ground = Ground(path);
    fs::write(ground.0.join("program.c"), PROGRAM).unwrap();
    let builds = [("cc", "glibc"), ("musl-gcc", "musl")];
    build_and_record(&ground, &builds)?;
    let mut failures = Vec::new();
    for (_, recorded) in builds {
        for deny in ["enosys", "eperm", "kill"] {
            let recording = format!("{recorded}.json");
            let generated = ground.callgate(&[
                "generate",
                &recording,
                "--runtime",
                "callgate",
                "--deny",
                deny,
                "-o",
                "p.json",
            ]);
            assert!(generated.status.success(), "{}", String::from_utf8_lossy(&generated.stderr));
            for (_, program) in builds {
                let own = format!("./{program}");
                let output = ground.callgate(&["run", "-s", "p.json", "--", &own]);
                if !is_well(&output) {
                    failures.push(format!(
                        "{program} under the profile of {recorded}, {deny}: {output:?}"
                    ));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}
