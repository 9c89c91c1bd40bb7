//! The list of targets.

use crate::{binary, c_library, convert, policies, programs, readers, requests};

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
    Target { name: "language", run: readers::language },
    Target { name: "profile", run: readers::profile },
    Target { name: "unit", run: readers::unit },
    Target { name: "firecracker", run: readers::firecracker },
    Target { name: "kafel", run: readers::kafel },
    Target { name: "minijail", run: readers::minijail },
    Target { name: "lxc", run: readers::lxc },
    Target { name: "snap", run: readers::snap },
    Target { name: "android", run: readers::android },
    Target { name: "program_text", run: readers::program_text },
    Target { name: "program_bytes", run: readers::program_bytes },
    Target { name: "recording", run: readers::recording },
    Target { name: "counts", run: readers::counts },
    Target { name: "binary", run: binary::binary },
    Target { name: "requests", run: requests::requests },
    Target { name: "compile", run: policies::compile },
    Target { name: "template", run: policies::template },
    Target { name: "merge", run: policies::merge },
    Target { name: "convert", run: convert::convert_text },
    Target { name: "optimize", run: programs::optimize },
    Target { name: "engines", run: programs::engines },
    Target { name: "round_trip", run: programs::round_trip },
    Target { name: "c_library", run: c_library::c_library },
];

/// Runs the target of this name.
///
/// # Panics
/// When there is no such target, or it finds a defect.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("unknown target {name}")).run)(input);
}
