//! Bodies of the fuzz targets: any bytes go in, and a panic is a defect.
//!
//! `fuzz/fuzz_targets/` runs each under libFuzzer (`cargo +nightly fuzz run NAME`); the test of this package runs
//! each for a second on its corpus and on mutations of it.
//!
//! - [`readers`]: readers take any text and answer with a result or with messages.
//! - [`programs`]: engines agree with the reference interpreter, and text forms are read back.
//! - [`policies`]: a compiled program means what the policy says, an optimized one what the program
//!   said, a merged one what the kernel makes of all.

pub mod bytes;
pub mod policies;
pub mod programs;
pub mod readers;

/// A fuzz target.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, and that of its corpus.
    pub name: &'static str,
    /// Runs it on an input.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "profile", run: readers::profile },
    Target { name: "program_text", run: readers::program_text },
    Target { name: "program_bytes", run: readers::program_bytes },
    Target { name: "recording", run: readers::recording },
    Target { name: "counts", run: readers::counts },
    Target { name: "compile", run: policies::compile },
    Target { name: "merge", run: policies::merge },
    Target { name: "optimize", run: programs::optimize },
    Target { name: "engines", run: programs::engines },
    Target { name: "round_trip", run: programs::round_trip },
];

/// Runs the target of this name.
///
/// # Panics
/// When there is no such target, or it finds a defect.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("unknown target {name}")).run)(input);
}
