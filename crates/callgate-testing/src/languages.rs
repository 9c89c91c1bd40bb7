//! Reads a text in any policy language, as its users do: the filters that it installs.

use callgate_bpf::diagnostic::Diagnostics;
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::policy::Policy;
use callgate_core::{Arch, SeccompData, Verdict};
use callgate_formats::languages::{Input, LanguageId, NoFiles, Reading, Text};
use callgate_formats::oci::{Dialect, EnosysAbove};
use callgate_formats::systemd::SystemdVersion;

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
    let id = to(language);
    let writer = id.writer();
    let is_for_arches = writer.is_none_or(|writer| writer.for_arches);
    let reading = Reading {
        arches: if is_for_arches { arches.to_vec() } else { Vec::new() },
        kernel: Some(KERNEL),
        systemd: Some(SystemdVersion::LATEST),
        enosys_above,
        ..Reading::new(arches[0])
    };
    let dialect = writer.and_then(|writer| writer.dialect);
    let texts = [Text::of(text)];
    let input = Input { name: dialect.map(Dialect::name), ..Input::of(&texts) };
    let read = (id.language().read)(&input, &reading, &mut NoFiles);
    let read = read.map_err(|errors| {
        let diagnostics = errors.into_vec().into_iter().map(|one| one.diagnostic);
        Diagnostics::from(diagnostics.collect::<Vec<_>>()).to_string()
    })?;
    let warnings = read.warnings.into_iter().map(|one| one.diagnostic.message).collect();
    let filters = read.filters.into_iter().map(|filter| filter.profile.policy).collect();
    Ok(ReadText { filters, warnings })
}

/// The language with a name.
///
/// # Panics
/// If there is none.
pub fn to(name: &str) -> LanguageId {
    name.parse().unwrap_or_else(|error| panic!("{error}"))
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
        store.stacked(&self.filters, |store, filter| store.policy(filter))
    }
}
