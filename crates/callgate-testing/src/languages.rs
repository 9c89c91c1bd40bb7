//! Reads a text in any policy language, as its users do: the filters that it installs.

use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::policy::Policy;
use callgate_core::{Arch, SeccompData, Verdict};
use callgate_formats::oci::{Dialect, EnosysAbove};
use callgate_formats::systemd::UnitText;
use callgate_formats::{firecracker, kafel, lxc, minijail, oci, snap, systemd};

use callgate_bpf::syscalls::KernelVersion;

/// The kernel for which texts are read.
pub const KERNEL: KernelVersion = KernelVersion { major: 6, minor: 18 };

/// What a text means.
#[derive(Debug)]
pub struct ReadText {
    /// The filters in the order of their installation.
    pub filters: Vec<Policy>,
    /// What the reader warns about.
    pub warnings: Vec<String>,
}

/// Reads a text; the first architecture is that of the machine.
///
/// # Errors
/// The messages of the reader.
///
/// # Panics
/// If there is no such language, or no architecture.
pub fn read(language: &str, text: &str, arches: &[Arch]) -> Result<ReadText, String> {
    read_with(language, text, arches, None)
}

/// As [`read`], but a container profile with or without runc's rule for numbers above the largest named one.
///
/// # Errors
/// The messages of the reader.
///
/// # Panics
/// If there is no such language, or no architecture.
pub fn read_with(
    language: &str,
    text: &str,
    arches: &[Arch],
    enosys_above: Option<EnosysAbove>,
) -> Result<ReadText, String> {
    let native = arches[0];
    let profile = match language {
        "systemd" => {
            let options = systemd::ReadOptions::new(native, KERNEL);
            let unit = systemd::read(&[UnitText::unit(text)], &options);
            let unit = unit.map_err(|error| error.to_string())?;
            let warnings = unit.warnings.iter().map(|one| one.diagnostic.message.clone()).collect();
            let filters = unit.filters.into_iter().map(|filter| filter.policy).collect();
            return Ok(ReadText { filters, warnings });
        }
        "snap" => {
            let options = snap::ReadOptions::new(native);
            let both = snap::read(text, &options, &mut |_, name| snap::system_id(name));
            let both = both.map_err(|error| error.to_string())?;
            let warnings = both.warnings.iter().map(|one| one.message.clone()).collect();
            return Ok(ReadText { filters: vec![both.deny, both.allow], warnings });
        }
        "kafel" => kafel::read(text, &kafel::ReadOptions::for_arches(arches.to_vec())),
        "minijail" => {
            minijail::read(text, &minijail::ReadOptions::new(native)).map(|policy| policy.profile)
        }
        "firecracker" => firecracker::read(text, &firecracker::ReadOptions::new(native)),
        "lxc" => lxc::read(text, &lxc::ReadOptions::new(native)),
        container => {
            let mut options = oci::ReadOptions::new(native, KERNEL);
            options.dialect = Some(match container {
                "docker" => Dialect::Docker,
                "podman" => Dialect::Podman,
                "oci" | "k8s" => Dialect::Oci,
                other => panic!("unknown language {other}"),
            });
            options.enosys_above = enosys_above;
            oci::read(text, &options)
        }
    };
    let profile = profile.map_err(|error| error.to_string())?;
    let warnings = profile.warnings.iter().map(|one| one.message.clone()).collect();
    Ok(ReadText { filters: vec![profile.policy], warnings })
}

impl ReadText {
    /// The verdict of all filters, from their rules.
    pub fn evaluate(&self, data: &SeccompData) -> Verdict {
        Verdict::of_stack(self.filters.iter().rev().map(|filter| filter.evaluate(data)))
    }

    /// The MTBDD of all filters.
    ///
    /// # Errors
    /// If it exceeds the budget.
    pub fn diagram(&self, store: &mut Store) -> Result<Func, DiagramError> {
        let mut kept = store.verdict(Verdict::ALLOW)?;
        for filter in self.filters.iter().rev() {
            let next = store.policy(filter)?;
            kept = store.highest_precedence(kept, next)?;
        }
        Ok(kept)
    }
}
