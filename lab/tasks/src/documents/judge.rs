//! Compares what our reader and the one in Go understand of a text.

use callgate::Arch;
use callgate_bpf::diagnostic::{Diagnostics, Severity};
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::diagram::Store;
use callgate_formats::oci::{self, Dialect, ReadOptions};
use callgate_formats::{CapSet, Profile};

use super::driver::{Driver, Owner, Syntax};
use callgate_tasks::Result;

/// How a text is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) syntax: Syntax,
    pub(super) owner: Owner,
    /// Whether our reader is told the dialect.
    pub(super) is_told: bool,
    pub(super) has_all_caps: bool,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Both accept the text, and it means the same to both.
    Same,
    /// Only the reader in Go accepts it; our message.
    OnlyThere(String),
    /// Neither accepts it.
    Neither,
    /// Only our reader accepts it; the other one's message.
    OnlyHere(String),
    /// Both accept it, and it means something else.
    Different(String),
}

/// Compares one text.
pub(super) fn judge(driver: &mut Driver, case: Case, text: &str) -> Result<Judgement> {
    let dialect = case.is_told.then_some(case.owner.dialect());
    let ours = read(case, dialect, text);
    // Without a dialect, keys decide whose profile it is.
    let plain = match ours.as_ref().map(|profile| profile.dialect) {
        Ok(Some(Dialect::Docker)) => Owner::Docker,
        Ok(Some(Dialect::Podman)) => Owner::Podman,
        _ => Owner::Runc,
    };
    let is_plain = matches!(case.owner, Owner::Docker | Owner::Podman | Owner::Runc);
    let mut owner = if is_plain && !case.is_told { plain } else { case.owner };
    let mut theirs = driver.read(case.syntax, owner, text)?;
    if (owner, ours.is_ok(), theirs.is_err()) == (Owner::Resource, true, true) {
        // The text may have become a profile at the top level, with a `kind` that container engines do not read.
        owner = plain;
        theirs = driver.read(case.syntax, owner, text)?;
    }
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Err(_), Err(_)) => return Ok(Judgement::Neither),
        (Err(ours), Ok(_)) => return Ok(Judgement::OnlyThere(first(&ours))),
        (Ok(_), Err(theirs)) => return Ok(Judgement::OnlyHere(theirs)),
    };
    match read(case, Some(owner.dialect()), &theirs) {
        Ok(profile) if is_same(owner, &ours, &profile)? => Ok(Judgement::Same),
        Ok(_) => Ok(Judgement::Different(theirs)),
        Err(messages) => Ok(Judgement::Different(format!("{theirs}\n{}", first(&messages)))),
    }
}

fn read(
    case: Case,
    dialect: Option<Dialect>,
    text: &str,
) -> std::result::Result<Profile, Diagnostics> {
    let caps = if case.has_all_caps { CapSet::all() } else { CapSet::docker() };
    let kernel = KernelVersion { major: 6, minor: 1 };
    oci::read(text, &ReadOptions { dialect, caps, ..ReadOptions::new(Arch::X86_64, kernel) })
}

fn first(messages: &Diagnostics) -> String {
    let error = messages.iter().find(|one| one.severity == Severity::Error);
    error.map_or_else(String::new, |error| error.message.clone())
}

/// Whether two profiles have the same filter, flags and listener. Podman knows no listener.
fn is_same(owner: Owner, ours: &Profile, theirs: &Profile) -> Result<bool> {
    if ours.flags != theirs.flags || ours.listener != theirs.listener && owner != Owner::Podman {
        return Ok(false);
    }
    if ours.policy == theirs.policy {
        return Ok(true);
    }
    let mut store = Store::default();
    let fail = |error| format!("an MTBDD is too large: {error}");
    Ok(store.policy(&ours.policy).map_err(fail)? == store.policy(&theirs.policy).map_err(fail)?)
}
