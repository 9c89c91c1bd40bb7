//! What wheels there are.

use std::path::PathBuf;

use super::super::context::{Context, Libc, Machine};

/// A wheel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wheel {
    pub(super) machine: Machine,
    pub(super) libc: Libc,
}

impl Wheel {
    /// All wheels of a release.
    pub(super) fn all(context: &Context) -> Vec<Wheel> {
        let of = |&machine| [Libc::Glibc, Libc::Musl].map(|libc| Wheel { machine, libc });
        context.machines.iter().flat_map(of).collect()
    }

    /// The target of Rust.
    pub(super) fn target(self) -> String {
        self.machine.target(self.libc)
    }

    /// The oldest C library that Rust's targets support (glibc 2.17 and musl 1.2), in the words of maturin.
    pub(super) fn compatibility(self) -> &'static str {
        match self.libc {
            Libc::Glibc => "manylinux2014",
            Libc::Musl => "musllinux_1_2",
        }
    }

    /// The tags of its platform, in the words of pip, as maturin sorts them.
    pub(super) fn platforms(self) -> Vec<String> {
        let names: &[&str] = match self.libc {
            Libc::Glibc => &["manylinux2014", "manylinux_2_17"],
            Libc::Musl => &["musllinux_1_2"],
        };
        names.iter().map(|name| format!("{name}_{}", self.machine.name)).collect()
    }

    /// Its file.
    pub(super) fn path(self, context: &Context) -> PathBuf {
        let Context { output, version, .. } = context;
        let platforms = self.platforms().join(".");
        output.join(format!("python/callgate-{version}-cp39-abi3-{platforms}.whl"))
    }

    /// What it is for, in a few words.
    pub(super) fn what(self) -> &'static str {
        match self.libc {
            Libc::Glibc => "wheel for Python 3.9 and later, glibc 2.17 and later",
            Libc::Musl => "wheel for Python 3.9 and later, musl 1.2 and later",
        }
    }
}
