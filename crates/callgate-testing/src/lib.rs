//! Test harness of Callgate's own tests.
//!
//! It behaves like the built-in harness, with three differences:
//!
//! - A test that cannot run on this machine returns [`Skip`] and is reported as *ignored*, with the reason, instead
//!   of as passed.
//! - A test that does not end within five minutes fails.
//! - Tests can be created at run time, for example one per file of a directory.
//!
//! With `CALLGATE_REQUIRE=root,ptrace` in the environment, a test that is skipped because it needs one of these
//! fails; `CALLGATE_REQUIRE=all` names every [`Need`] except [`Need::User`].
//!
//! ```
//! use callgate_testing::{Need, Skip, TestResult};
//!
//! fn reads_its_own_status() -> TestResult {
//!     let status = std::fs::read_to_string("/proc/self/status")
//!         .map_err(|why| Skip::new(Need::Proc, why))?;
//!     assert!(status.contains("Pid:"));
//!     Ok(())
//! }
//!
//! callgate_testing::tests![reads_its_own_status];
//! ```
//!
//! In `Cargo.toml` such a test has `harness = false`.
#![forbid(unsafe_code)]

pub mod filetest;
pub mod random;

use std::fmt;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Failed};

pub use libtest_mimic::Trial;

macro_rules! needs {
    ($($(#[$doc:meta])* $need:ident = $name:literal,)*) => {
        /// What a test may need that a machine may lack.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Need {
            $($(#[$doc])* $need,)*
        }

        impl Need {
            const ALL: &[Need] = &[$(Need::$need,)*];

            /// Its name in `CALLGATE_REQUIRE`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Need::$need => $name,)*
                }
            }
        }
    };
}

needs! {
    /// Effective user ID 0, or the capabilities that come with it.
    Root = "root",
    /// A user other than root, whom permissions of files stop.
    User = "user",
    /// `ptrace(2)` of other processes.
    Ptrace = "ptrace",
    /// eBPF programs at tracepoints, and the kernel's type information.
    Bpf = "bpf",
    /// Listeners of seccomp notifications.
    Listener = "listener",
    /// `/proc`.
    Proc = "proc",
    /// Mounts in a namespace of its own.
    Mount = "mount",
    /// Sockets on the loopback device.
    Sockets = "sockets",
    /// A C compiler and qemu's user-mode emulation for another architecture.
    Qemu = "qemu",
    /// `strace(1)`.
    Strace = "strace",
    /// An OCI runtime.
    Containers = "containers",
    /// The SMT solvers z3 and cvc5; of the tests, only `cargo xtask smt` uses them.
    Smt = "smt",
    /// A command or library of the system that is not named here.
    Tool = "tool",
    /// A feature of the running kernel that is not named here.
    Kernel = "kernel",
}

impl Need {
    /// Whether `CALLGATE_REQUIRE` names it.
    ///
    /// # Panics
    /// If the variable contains an unknown name.
    pub fn is_required(self) -> bool {
        let required = std::env::var("CALLGATE_REQUIRE").unwrap_or_default();
        let mut names = required.split(',').map(str::trim).filter(|name| !name.is_empty());
        let known = |name: &str| name == "all" || Need::ALL.iter().any(|need| need.name() == name);
        if let Some(unknown) = names.clone().find(|name| !known(name)) {
            let all: Vec<&str> = Need::ALL.iter().map(|need| need.name()).collect();
            panic!(
                "unknown need \"{unknown}\" in CALLGATE_REQUIRE; known are all, {}",
                all.join(", ")
            );
        }
        // No process is root and another user, so "all" cannot name both.
        names.any(|name| name == self.name() || name == "all" && self != Need::User)
    }
}

/// Why a test cannot run here.
#[derive(Debug)]
pub struct Skip {
    need: Need,
    reason: String,
}

impl Skip {
    /// This need is not met, for this reason.
    pub fn new(need: Need, reason: impl fmt::Display) -> Skip {
        Skip { need, reason: reason.to_string() }
    }
}

/// What a test returns; a failure is a panic, as in the built-in harness.
pub type TestResult = Result<(), Skip>;

/// How long a test may take. Generous, for slow and busy machines.
const LIMIT: Duration = Duration::from_secs(300);

/// A test with a name, for tests that are created at run time. It fails if it does not end within five minutes.
pub fn test(name: impl Into<String>, body: impl FnOnce() -> TestResult + Send + 'static) -> Trial {
    Trial::ignorable_test(name, move || match within(LIMIT, body)? {
        Ok(()) => Ok(Completion::Completed),
        Err(Skip { need, reason }) if need.is_required() => {
            Err(Failed::from(format!("CALLGATE_REQUIRE names {}, but: {reason}", need.name())))
        }
        Err(Skip { need, reason }) => {
            Ok(Completion::ignored_with(format!("needs {}: {reason}", need.name())))
        }
    })
}

/// Runs the body in a thread of its own, which is abandoned at the limit.
fn within(
    limit: Duration,
    body: impl FnOnce() -> TestResult + Send + 'static,
) -> Result<TestResult, Failed> {
    let (end, ended) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        // Dropped at the end, also by a panic.
        let _end = end;
        body()
    });
    match ended.recv_timeout(limit) {
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Err(Failed::from(format!("did not end within {} seconds", limit.as_secs_f32())))
        }
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => {
            Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
        }
    }
}

/// Runs tests as the arguments of this process say, which are those of the built-in harness.
pub fn run(tests: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

/// Defines the `main` of a test binary with one test per function.
#[macro_export]
macro_rules! tests {
    ($($name:ident),+ $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::run($crate::trials![$($name),+])
        }
    };
}

/// One test per function, for [`run`].
#[macro_export]
macro_rules! trials {
    ($($name:ident),+ $(,)?) => {
        vec![$($crate::test(stringify!($name), $name)),+]
    };
}

/// Skips the test unless the effective user is root.
///
/// # Errors
/// When it is not.
pub fn needs_root() -> TestResult {
    let user = rustix::process::geteuid();
    if user.is_root() {
        return Ok(());
    }
    Err(Skip::new(Need::Root, format!("the effective user ID is {}", user.as_raw())))
}

/// Skips the test unless one of the directories in `PATH` contains this program.
///
/// # Errors
/// When none does.
pub fn needs_program(need: Need, name: &str) -> TestResult {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|directory| directory.join(name).is_file()) {
        return Ok(());
    }
    Err(Skip::new(need, format!("{name} is not installed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_does_not_end_fails() {
        let limit = Duration::from_millis(50);
        let (_keep, never) = mpsc::channel::<()>();
        let error = within(limit, move || {
            let _ = never.recv();
            Ok(())
        });
        let message = error.unwrap_err().message().unwrap_or_default().to_owned();
        assert_eq!(message, "did not end within 0.05 seconds");
        assert!(within(LIMIT, || Ok(())).unwrap().is_ok());
        let skipped = within(LIMIT, || Err(Skip::new(Need::Root, "no"))).unwrap();
        assert!(skipped.is_err());
    }

    #[test]
    #[should_panic(expected = "the reason")]
    fn a_panic_keeps_its_message() {
        let _ = within(LIMIT, || panic!("the reason"));
    }
}
