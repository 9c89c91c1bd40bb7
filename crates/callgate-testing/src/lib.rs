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
//!
//! All random policies, programs and texts of tests are in [`random`]; as WebAssembly, this crate has only what needs no
//! operating system.
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
pub mod filetest;
#[cfg(target_os = "linux")]
mod harness;
pub mod hostile;
pub mod languages;
#[cfg(target_os = "linux")]
mod need;
pub mod processor_time;
pub mod random;
pub mod reader;
pub mod truth_table;

#[cfg(target_os = "linux")]
pub use harness::{name_in, run, run_waiting, test};
#[cfg(target_os = "linux")]
pub use libtest_mimic::Trial;
#[cfg(target_os = "linux")]
pub use need::{Need, Skip, TestResult, needs_program, needs_root};
pub use random::is_thorough;
