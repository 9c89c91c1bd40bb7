//! What is converted to what, and how the result is read back.

use super::error::{ConvertError, ConvertErrorKind, Result};
use crate::Listener;
use crate::languages::{Input, LanguageId, NoFiles, Reading, Text};
use crate::oci::{Dialect, EnosysAbove};
use crate::systemd::SystemdVersion;
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Severity, Topic};
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::Arch;
use callgate_core::diagram::{Func, Store};

/// How a filter is converted.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertOptions {
    /// The target language.
    pub target: LanguageId,
    /// The architectures of the filter; empty: those of a policy. Others that it treats in their own way are added.
    pub arches: Vec<Arch>,
    /// Whether to write the nearest stricter policy if the target cannot express the filter.
    pub closest: bool,
    /// The kernel for which the policy is read back.
    pub kernel: KernelVersion,
    /// Whether a container profile is read back with runc's rule that numbers above the largest named one fail with ENOSYS.
    /// `None`: the rule belongs to the runtime; source and policy are compared both with or both without it.
    pub enosys_above: Option<EnosysAbove>,
    /// The version of systemd.
    pub systemd: SystemdVersion,
    /// The name of the thread of a Firecracker filter, or of a Kubernetes resource; `None` takes a common one.
    pub name: Option<String>,
    /// The flags with which the filter is installed.
    pub flags: FilterFlags,
    /// The supervisor that handles notifications.
    pub listener: Option<Listener>,
}

impl ConvertOptions {
    /// An exact conversion for Linux 6.18 and the newest known systemd.
    pub fn new(target: LanguageId) -> ConvertOptions {
        ConvertOptions {
            target,
            arches: Vec::new(),
            closest: false,
            kernel: KernelVersion { major: 6, minor: 18 },
            enosys_above: None,
            systemd: SystemdVersion::LATEST,
            name: None,
            flags: FilterFlags::NONE,
            listener: None,
        }
    }
}

/// The function of a text in the target language, read for these architectures.
pub(crate) fn read_back(
    store: &mut Store,
    text: &str,
    options: &ConvertOptions,
    arches: &[Arch],
) -> Result<Func> {
    let target = options.target;
    let is_for_arches = target.writer().is_some_and(|writer| writer.for_arches);
    let reading = Reading {
        arches: if is_for_arches { arches.to_vec() } else { Vec::new() },
        kernel: Some(options.kernel),
        enosys_above: options.enosys_above,
        systemd: Some(options.systemd),
        ..Reading::new(arches.first().copied().unwrap_or(Arch::X86_64))
    };
    let texts = [Text::of(text)];
    let dialect = target.writer().and_then(|writer| writer.dialect);
    let input = Input { name: dialect.map(Dialect::name), ..Input::of(&texts) };
    let read = (target.language().read)(&input, &reading, &mut NoFiles).map_err(|errors| {
        let messages = errors.into_vec().into_iter().map(|one| one.diagnostic);
        rejected(target.name(), messages.collect::<Vec<Diagnostic>>().into())
    })?;
    match read.filters.as_slice() {
        // The policy must have this function, also the data of an ALLOW, which a stack loses.
        [only] => Ok(store.policy(&only.profile.policy)?),
        filters => {
            store.stacked(filters, |store, filter| Ok(store.policy(&filter.profile.policy)?))
        }
    }
}

/// The error for a text that the reader rejects.
fn rejected(target: &'static str, messages: Diagnostics) -> ConvertError {
    // Readers limit the size of a text, and the number of its rules and comparisons.
    let is_too_large =
        |one: &&Diagnostic| one.severity == Severity::Error && one.topic == Some(Topic::TooLarge);
    let too_large = messages.iter().find(is_too_large);
    ConvertError(match too_large {
        Some(error) => ConvertErrorKind::TooLarge { target, message: error.message.clone() },
        None => ConvertErrorKind::Refused { target, messages: messages.to_string() },
    })
}
