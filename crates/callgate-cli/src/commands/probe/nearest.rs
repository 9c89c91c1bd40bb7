//! The built-in profile whose answers are nearest to those of the filters.

use callgate::source::{Reading, SourceContent, SourceText, read};
use callgate::{Action, Verdict};
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::diagram::{DiagramError, Store};
use callgate_formats::libseccomp_versions::LibseccompVersion;
use callgate_formats::{BUILT_INS, BuiltIn, CapSet};
use callgate_linux::{ThreadStatus, kernel};
use callgate_measure::own_filters::{Finding, Outcome, ProbedCall};

use crate::options::native_arch;
use crate::report::{Failure, Result};

/// The nearest profile.
pub(super) struct Nearest {
    /// Its name with a version.
    pub(super) name: String,
    /// The releases that have it.
    pub(super) releases: Vec<String>,
    /// The capabilities for which it was read.
    pub(super) caps: CapSet,
    /// Whether these are the capabilities that this process can have.
    pub(super) is_own: bool,
    /// The versions of libseccomp with which a runtime reads it, if the answers are those of an older one: the oldest and the newest.
    pub(super) libseccomp: Option<(LibseccompVersion, LibseccompVersion)>,
    /// The indices of the calls whose answers differ, each with the verdict of the profile.
    pub(super) different: Vec<(usize, Verdict)>,
    /// The number of the calls that were compared.
    pub(super) compared: usize,
    /// Other profiles, and versions, that differ for as many calls.
    pub(super) others: Vec<String>,
}

/// A version of a profile, as it is read.
#[derive(Clone)]
struct Candidate {
    built_in: &'static BuiltIn,
    version: Option<String>,
    caps: CapSet,
    is_own: bool,
    libseccomp: Option<LibseccompVersion>,
    /// Whether no release of the engine has this version, only one of the library with its profile.
    is_of_library: bool,
}

/// How many candidates are also read as with an older libseccomp, and how many more differences they may have than the nearest.
const MOST_READ_AGAIN: usize = 12;
const NEARLY: usize = 40;

/// The profile whose answers differ for the fewest calls: of several, the first of the list of profiles, and its newest
/// version. `None` if the profiles are not for this machine.
pub(super) fn nearest(
    calls: &[ProbedCall],
    status: Option<&ThreadStatus>,
) -> Result<Option<Nearest>> {
    let release = kernel::release().ok();
    let Some(kernel) = release.and_then(|release| release.parse::<KernelVersion>().ok()) else {
        return Ok(None);
    };
    let arch = native_arch()?;
    // A container is started with the capabilities that it can have at most, which the profile is read for.
    let own = status.and_then(|status| status.bounding).map(CapSet::from_bits);
    let mut all: Vec<(Candidate, Different)> = Vec::new();
    for candidate in candidates(own) {
        let different = candidate.differences(kernel, calls)?;
        all.push((candidate, different));
    }
    let key = |(candidate, different): &(Candidate, Different)| {
        (different.len(), candidate.is_of_library)
    };
    all.sort_by_key(key);
    let Some(fewest) = all.first().map(|(_, different)| different.len()) else { return Ok(None) };
    // An older libseccomp does not know new syscalls, which get the default action of the profile then.
    let mut older = Vec::new();
    let is_nearly = |different: &Different| different.len() <= fewest + NEARLY;
    let again = all.iter().filter(|(_, different)| fewest > 0 && is_nearly(different));
    for (candidate, different) in again.take(MOST_READ_AGAIN) {
        // Only a version that lacks an allowed syscall can explain its error.
        let lacks = |version: &LibseccompVersion| {
            different.iter().any(|(at, verdict)| {
                let call = calls.get(*at).map(|call| call.call.syscall);
                verdict.permits() && call.is_some_and(|name| !version.has_number(name, arch))
            })
        };
        let versions =
            std::iter::successors(LibseccompVersion::NEWEST.previous(), |one| one.previous());
        for version in versions.filter(lacks) {
            let older_one = Candidate { libseccomp: Some(version), ..candidate.clone() };
            let different = older_one.differences(kernel, calls)?;
            if different.len() < fewest {
                older.push((older_one, different));
            }
        }
    }
    all.extend(older);
    all.sort_by_key(key);
    let compared = calls.iter().filter(|call| !matches!(call.outcome, Outcome::NotMade)).count();
    let mut all = all.into_iter();
    let Some((best, different)) = all.next() else { return Ok(None) };
    let tied: Vec<Candidate> = all
        .take_while(|(_, other)| other.len() == different.len())
        .map(|(candidate, _)| candidate)
        .collect();
    let text = best.built_in.text(best.version.as_deref())?;
    let mut others: Vec<String> = Vec::new();
    for one in &tied {
        let name = one.built_in.text(one.version.as_deref())?.name;
        if name != text.name && !others.contains(&name) {
            others.push(name);
        }
    }
    // The newest comes first.
    let mut same = tied.iter().filter(|one| one.is_like(&best)).filter_map(|one| one.libseccomp);
    let oldest = same.next_back().or(best.libseccomp);
    Ok(Some(Nearest {
        others,
        name: text.name,
        releases: text.releases,
        caps: best.caps,
        is_own: best.is_own,
        libseccomp: oldest.zip(best.libseccomp),
        different,
        compared,
    }))
}

/// The calls for which a profile answers differently, by index, each with its verdict.
type Different = Vec<(usize, Verdict)>;

/// All versions of all profiles, the newest first.
fn candidates(own: Option<CapSet>) -> Vec<Candidate> {
    let mut all = Vec::new();
    for built_in in BUILT_INS.iter() {
        let mut versions: Vec<Option<String>> =
            built_in.versions().into_iter().rev().map(Some).collect();
        if versions.is_empty() {
            versions.push(None);
        }
        let newest = numbered_by(built_in, None);
        for version in versions {
            let is_of_library = numbered_by(built_in, version.as_deref()) != newest;
            let of = |(caps, is_own)| {
                let version = version.clone();
                Candidate { built_in, version, caps, is_own, libseccomp: None, is_of_library }
            };
            all.extend(capabilities(built_in, own).into_iter().map(of));
        }
    }
    all
}

/// Who numbers the releases that have a version of a profile; of several, the engine.
fn numbered_by(built_in: &BuiltIn, version: Option<&str>) -> Option<String> {
    let releases = built_in.text(version).ok()?.releases;
    let label = releases.first()?.split(|c: char| c.is_ascii_digit()).next()?;
    Some(label.to_owned())
}

/// The sets of capabilities for which a profile is read.
fn capabilities(built_in: &BuiltIn, own: Option<CapSet>) -> Vec<(CapSet, bool)> {
    let of_engine = match built_in.name {
        "podman-default" => CapSet::podman(),
        _ => CapSet::docker(),
    };
    let own = own.map(|own| (own, true));
    let usual = Some((of_engine, false)).filter(|(usual, _)| own != Some((*usual, true)));
    own.into_iter().chain(usual).collect()
}

impl Candidate {
    /// Whether only libseccomp differs.
    fn is_like(&self, other: &Candidate) -> bool {
        self.built_in.name == other.built_in.name
            && self.version == other.version
            && self.caps == other.caps
    }

    /// The calls for which it answers differently.
    fn differences(&self, kernel: KernelVersion, calls: &[ProbedCall]) -> Result<Different> {
        let arch = native_arch()?;
        let text = self.built_in.text(self.version.as_deref())?;
        let reading = Reading {
            arches: vec![arch],
            kernel: Some(kernel),
            caps: Some(self.caps),
            libseccomp: self.libseccomp,
            ..Reading::new(arch)
        };
        let source = SourceText::new(SourceContent::Preset(text.name), reading);
        let stack = read(&source, &mut Vec::new()).map_err(Failure::from)?;
        let mut store = Store::default();
        let root = stack.combined_diagram(&mut store, &mut Vec::new()).map_err(Failure::from)?;
        let mut different = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let verdict = store
                .evaluate(root, &call.data)
                .map_err(|error: DiagramError| Failure::new(error.to_string()))?;
            if !explains(verdict, call) {
                different.push((at, verdict));
            }
        }
        Ok(different)
    }
}

/// Whether a verdict explains what came back for a call.
fn explains(verdict: Verdict, call: &ProbedCall) -> bool {
    match verdict.action() {
        _ if call.outcome == Outcome::NotMade => true,
        Action::Allow | Action::Log => call.finding == Finding::Allowed || call.may_be_allowed,
        Action::Errno(errno) => call.outcome == Outcome::Errno(errno),
        Action::KillProcess | Action::KillThread => call.outcome == Outcome::Killed,
        Action::Trap(_) => match call.outcome {
            Outcome::Trapped(_) => true,
            outcome => outcome == Outcome::Killed && call.finding == Finding::KilledOrTrapped,
        },
        // A supervisor or a tracer decides.
        Action::UserNotif(_) | Action::Trace(_) => true,
        _ => call.outcome == Outcome::Killed,
    }
}
