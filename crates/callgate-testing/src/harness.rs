//! Runs tests with a time limit, and reports skipped ones as ignored.

use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::need::{Skip, TestResult};

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

/// The name of a test in a module of its program, as the built-in harness would call it; `module` is `module_path!()`.
#[must_use]
pub fn name_in(module: &str, name: &str) -> String {
    match module.split_once("::") {
        Some((_, inside)) => format!("{inside}::{name}"),
        None => name.to_owned(),
    }
}

/// Runs tests as the arguments of this process say, which are those of the built-in harness.
pub fn run(tests: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

/// As [`run`], for tests that mostly wait for other processes: four at a time, unless the arguments say otherwise.
pub fn run_waiting(tests: Vec<Trial>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(4));
    libtest_mimic::run(&arguments, tests).exit_code()
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
        vec![$($crate::test($crate::name_in(module_path!(), stringify!($name)), $name)),+]
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::need::Need;

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
    fn names_are_those_of_the_built_in_harness() {
        assert_eq!(name_in("integration::attach", "ends"), "attach::ends");
        assert_eq!(name_in("integration", "ends"), "ends");
    }

    #[test]
    #[should_panic(expected = "the reason")]
    fn a_panic_keeps_its_message() {
        let _ = within(LIMIT, || panic!("the reason"));
    }
}
