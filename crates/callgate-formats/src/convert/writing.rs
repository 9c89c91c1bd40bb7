//! What writers of languages are told besides the filter.

use super::error::ConvertError;
use crate::oci::{Dialect, EnosysAbove};
use crate::profile::Listener;
use crate::systemd::SystemdVersion;
use callgate_bpf::FilterFlags;
use callgate_core::Arch;
use callgate_core::diagram::{Func, Store};

/// What writers of languages are told besides the filter.
pub struct Writing<'o> {
    /// The name under which the language is written.
    pub(crate) target: &'static str,
    /// The dialect of a container profile.
    pub(crate) dialect: Option<Dialect>,
    /// Whether the nearest stricter policy is written.
    pub(crate) closest: bool,
    /// How a container profile is read back.
    pub(crate) enosys_above: Option<EnosysAbove>,
    /// The version of systemd.
    pub(crate) systemd: SystemdVersion,
    /// The name of what is written, if one is given.
    pub(crate) name: Option<&'o str>,
    /// The flags with which the filter is installed.
    pub(crate) flags: FilterFlags,
    /// The supervisor that handles notifications.
    pub(crate) listener: Option<&'o Listener>,
    /// The function of a text in the language, read for these architectures.
    pub(crate) read_back: &'o ReadBack<'o>,
}

/// Reads a text back.
pub(crate) type ReadBack<'o> = dyn Fn(&mut Store, &str, &[Arch]) -> Result<Func, ConvertError> + 'o;
