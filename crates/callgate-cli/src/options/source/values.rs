//! Values of options about reading.

use std::ffi::OsString;
use std::str::FromStr;

use callgate::Endian;
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::minijail::Semantics;
use callgate_formats::oci;
use clap::ValueEnum;

/// A kernel on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KernelArg {
    /// `running`: that of this machine.
    Running,
    Version(KernelVersion),
    /// Not a kernel but the source, after `--kernel` without a value.
    Source(OsString),
}

impl FromStr for KernelArg {
    type Err = <KernelVersion as FromStr>::Err;

    fn from_str(text: &str) -> std::result::Result<KernelArg, Self::Err> {
        Ok(if text == RUNNING { KernelArg::Running } else { KernelArg::Version(text.parse()?) })
    }
}

/// The name of the running kernel for `--kernel`.
pub(crate) const RUNNING: &str = "running";

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum EnosysArg {
    On,
    #[value(name = "runc-1.1")]
    Runc1_1,
    Off,
}

impl From<EnosysArg> for oci::EnosysAbove {
    fn from(given: EnosysArg) -> oci::EnosysAbove {
        match given {
            EnosysArg::On => oci::EnosysAbove::On,
            EnosysArg::Runc1_1 => oci::EnosysAbove::Runc1_1,
            EnosysArg::Off => oci::EnosysAbove::Off,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum SemanticsArg {
    C,
    Python,
}

impl From<SemanticsArg> for Semantics {
    fn from(given: SemanticsArg) -> Semantics {
        match given {
            SemanticsArg::C => Semantics::C,
            SemanticsArg::Python => Semantics::Python,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EndianArg {
    Little,
    Big,
}

impl From<EndianArg> for Endian {
    fn from(order: EndianArg) -> Endian {
        match order {
            EndianArg::Little => Endian::Little,
            EndianArg::Big => Endian::Big,
        }
    }
}
