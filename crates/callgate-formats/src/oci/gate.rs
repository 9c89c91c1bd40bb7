//! Gates: the conditions of `includes` and `excludes` on capabilities, architecture and kernel version, which
//! decide whether an entry applies.

use super::options::ReadOptions;
use crate::capabilities::CapSet;
use callgate_bpf::syscalls::{Arch, KernelVersion};

/// The content of `includes` or `excludes`; without any condition if the key is absent.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The known capabilities of the list.
    pub(super) caps: CapSet,
    /// Whether the list also has an unknown capability, which no container has.
    pub(super) has_unknown_cap: bool,
    pub(super) arches: Option<Vec<Arch>>,
    pub(super) min_kernel: Option<KernelVersion>,
}

impl Gate {
    /// Whether an entry with these `includes` applies: all conditions must hold.
    pub(super) fn includes(&self, options: &ReadOptions) -> bool {
        let caps = !self.has_unknown_cap && options.caps.includes(self.caps);
        caps && self.on_arch(options) != Some(false) && self.on_kernel(options) != Some(false)
    }

    /// Whether an entry with these `excludes` is left out: one condition that holds is enough.
    pub(super) fn excludes(&self, options: &ReadOptions) -> bool {
        options.caps.overlaps(self.caps)
            || self.on_arch(options) == Some(true)
            || self.on_kernel(options) == Some(true)
    }

    fn on_arch(&self, options: &ReadOptions) -> Option<bool> {
        self.arches.as_ref().map(|arches| arches.contains(&options.main_arch()))
    }

    fn on_kernel(&self, options: &ReadOptions) -> Option<bool> {
        self.min_kernel.map(|min| options.kernel >= min)
    }
}
