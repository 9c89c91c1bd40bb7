//! Gates: the conditions of `includes` and `excludes` on capabilities, architecture and kernel version, which
//! decide whether an entry applies.

use super::options::ReadOptions;
use crate::capabilities::CapSet;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::Arch;

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

    /// The capabilities that an entry with these `includes` needs in addition to those that there are.
    pub(super) fn missing_caps(&self, options: &ReadOptions) -> CapSet {
        self.caps.without(options.caps)
    }

    /// Why an entry with these `includes` does not apply, as a clause; `None` if it does.
    pub(super) fn missing(&self, options: &ReadOptions) -> Option<String> {
        if self.has_unknown_cap {
            return Some("it needs an unknown capability".to_owned());
        }
        if !options.caps.includes(self.caps) {
            let missing = list(self.caps.without(options.caps));
            return Some(format!("it needs {missing}, which the process does not have"));
        }
        if self.on_arch(options) == Some(false) {
            return Some(format!("it is not for {}", options.main_arch()));
        }
        let min = self.min_kernel.filter(|_| self.on_kernel(options) == Some(false))?;
        Some(format!("it needs Linux {min} or later, and the kernel is {}", options.kernel))
    }

    /// The capabilities of an entry with these `includes`, all of which it needs.
    pub(super) fn capabilities(&self) -> CapSet {
        self.caps
    }

    /// Why an entry with these `excludes` is left out, as a clause; `None` if it is not.
    pub(super) fn excluded(&self, options: &ReadOptions) -> Option<String> {
        if options.caps.overlaps(self.caps) {
            let present = list(self.caps.intersection(options.caps));
            return Some(format!("it is only for processes without {present}"));
        }
        if self.on_arch(options) == Some(true) {
            return Some(format!("it is not for {}", options.main_arch()));
        }
        let min = self.min_kernel.filter(|_| self.on_kernel(options) == Some(true))?;
        Some(format!("it is for kernels before Linux {min}, and the kernel is {}", options.kernel))
    }

    fn on_arch(&self, options: &ReadOptions) -> Option<bool> {
        self.arches.as_ref().map(|arches| arches.contains(&options.main_arch()))
    }

    fn on_kernel(&self, options: &ReadOptions) -> Option<bool> {
        self.min_kernel.map(|min| options.kernel >= min)
    }
}

/// The names of capabilities.
fn list(caps: CapSet) -> String {
    caps.names().collect::<Vec<_>>().join(", ")
}
