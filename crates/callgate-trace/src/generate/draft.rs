//! Which calls a profile grants, with which limits, and why.
//!
//! In this order: what was recorded; what whoever installs the filter needs in addition, which may
//! widen limits; what stands for recorded calls in other C libraries. The order of the recordings does
//! not matter.

use std::collections::BTreeMap;

use super::arg_limit::{Cube, Limit};
use super::directives;
use super::error::{GenerateError, Kind};
use super::families;
use super::limitable::{self as limits, Evidence, Limitable};
use super::runtime::{BY_KERNEL, Needed};
use super::{Arguments, Deny, Form, Options, Runtime};
use crate::recording::{Bounds, CallId, Effect, Recording, Seen, Values};
use callgate_bpf::syscalls::Arch;

/// How often an argument must have been seen for each of its values, on average, in the only recording
/// for the argument to count as stable. How often each value was seen is not recorded.
const PER_VALUE: u64 = 4;

/// How many alternatives the limits of one call may make together; each is a rule.
const MAX_ALTERNATIVES: usize = 64;

/// A profile before it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub(super) arches: Vec<Arch>,
    pub(super) deny: Deny,
    pub(super) runtime: Runtime,
    pub(super) arguments: Arguments,
    pub(super) systemd: u16,
    pub(super) grants: BTreeMap<&'static str, Grant>,
    pub(super) numbers: Vec<(CallId, u64)>,
    pub(super) refused: Vec<&'static str>,
    /// What whoever installs the filter tries and can do without.
    pub(super) tried: Vec<&'static str>,
    pub(super) recorded: Recording,
}

/// A call that is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its name.
    pub name: &'static str,
    /// Why it is granted.
    pub reason: Reason,
    /// Whether whoever installs the filter needs it, too.
    pub at_start: bool,
    /// All of these must hold.
    pub limits: Vec<Limit>,
    /// Arguments that could be limited and are not.
    pub unlimited: Vec<Unlimited>,
}

/// Why a call is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was recorded, this many times.
    Recorded(u64),
    /// Whoever installs the filter needs it.
    Runtime,
    /// The kernel makes the program call it, on any day.
    Kernel,
    /// It stands for a recorded call.
    Sibling {
        /// For this one.
        of: &'static str,
        /// How so.
        why: &'static str,
    },
}

/// An argument that could be limited and is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlimited {
    /// Its name.
    pub name: &'static str,
    /// What speaks against it.
    pub why: String,
    /// Whether it would be limited if all its values were known.
    pub lacks_values: bool,
}

impl Unlimited {
    fn new(name: &'static str, why: impl Into<String>) -> Unlimited {
        Unlimited { name, why: why.into(), lacks_values: false }
    }
}

impl Draft {
    /// The architectures, that of the most calls first.
    pub fn arches(&self) -> &[Arch] {
        &self.arches
    }

    /// What happens to all other calls.
    pub fn deny(&self) -> Deny {
        self.deny
    }

    /// Who installs the filter.
    pub fn runtime(&self) -> Runtime {
        self.runtime
    }

    /// The calls that are granted, by name.
    pub fn grants(&self) -> impl Iterator<Item = &Grant> {
        self.grants.values()
    }

    /// Whether a form can name a call: systemd ignores names that are newer than it.
    pub fn can_name(&self, form: Form, name: &str) -> bool {
        form != Form::Systemd || directives::knows(self.systemd, name)
    }

    /// The version of systemd that a unit is for.
    pub fn systemd(&self) -> u16 {
        self.systemd
    }

    /// Recorded numbers that have no name, and how often each was called.
    pub fn numbers(&self) -> &[(CallId, u64)] {
        &self.numbers
    }

    /// Calls that fail with ENOSYS, whatever happens to others, so that libraries fall back to a granted
    /// one.
    pub fn refused(&self) -> &[&'static str] {
        &self.refused
    }

    /// What was recorded for the architectures, all together.
    pub fn recorded(&self) -> &Recording {
        &self.recorded
    }
}

impl Grant {
    fn new(name: &'static str, reason: Reason) -> Grant {
        Grant { name, reason, at_start: false, limits: Vec::new(), unlimited: Vec::new() }
    }

    /// Whether the call was recorded.
    pub fn is_recorded(&self) -> bool {
        matches!(self.reason, Reason::Recorded(_))
    }

    /// The limits as alternatives, one of which must hold: in each, one cube of each limit.
    pub(super) fn alternatives(&self) -> Vec<Vec<(&Limit, Cube)>> {
        let mut all = vec![Vec::new()];
        for limit in &self.limits {
            let cubes = limit.cubes();
            all = all
                .iter()
                .flat_map(|earlier: &Vec<(&Limit, Cube)>| {
                    cubes.iter().map(|cube| {
                        let mut with = earlier.clone();
                        with.push((limit, *cube));
                        with
                    })
                })
                .collect();
        }
        all
    }

    /// Gives limits up that let everything pass.
    fn keep_real_limits(&mut self) {
        let (real, vacuous): (Vec<Limit>, Vec<Limit>) =
            self.limits.drain(..).partition(|limit| !limit.lets_all_pass());
        self.limits = real;
        self.unlimited.extend(vacuous.into_iter().map(|limit| {
            let why = "what was recorded and what is always granted is all there is";
            Unlimited::new(limit.name, why)
        }));
    }

    /// Gives limits up, the one with the most alternatives first, until they are few together.
    fn keep_few_alternatives(&mut self) {
        while self.limits.iter().map(|limit| limit.cubes().len()).product::<usize>()
            > MAX_ALTERNATIVES
        {
            let most = (0..self.limits.len())
                .max_by_key(|index| self.limits.get(*index).map(|limit| limit.cubes().len()));
            let Some(most) = most else { return };
            let limit = self.limits.remove(most);
            let why = format!("with the other limits it makes more than {MAX_ALTERNATIVES} rules");
            self.unlimited.push(Unlimited::new(limit.name, why));
        }
    }
}

/// See [`super::generate`].
pub(super) fn draft(recordings: &[Recording], options: &Options) -> Result<Draft, GenerateError> {
    // All that follows looks at the merged recording alone, so that merging beforehand changes nothing.
    let mut recorded = Recording::default();
    recordings.iter().for_each(|recording| recorded.merge(recording.clone()));
    let arches = arches(&recorded, options)?;
    recorded.retain(|call| arches.contains(&call.arch));
    let mut caveats = recorded.caveats();
    caveats.retain(|caveat| caveat.effect == Effect::Incomplete);
    if !caveats.is_empty() && !options.partial {
        return Err(Kind::Incomplete(caveats).into());
    }

    let mut numbers = Vec::new();
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (call, seen) in recorded.calls() {
        match call.name() {
            Some(name) => {
                let count = counts.entry(name).or_default();
                *count = count.saturating_add(seen.count());
            }
            None => numbers.push((call, seen.count())),
        }
    }
    let grant = |(name, count): (&'static str, u64)| {
        let mut grant = Grant::new(name, Reason::Recorded(count));
        limit(&mut grant, &recorded, options.arguments);
        (name, grant)
    };
    let grants = counts.into_iter().map(grant).collect();
    let Options { deny, runtime, arguments, systemd, .. } = *options;
    let mut draft = Draft {
        arches,
        deny,
        runtime,
        arguments,
        systemd,
        grants,
        numbers,
        refused: Vec::new(),
        tried: Vec::new(),
        recorded,
    };
    draft.add_runtime(options.arguments);
    draft.add_calls_by_kernel();
    if options.complete {
        draft.complete(options.arguments);
    }
    let tries = runtime.tries().iter().copied();
    draft.tried = tries.filter(|name| draft.exists(name) && !draft.decides(name)).collect();
    for grant in draft.grants.values_mut() {
        grant.keep_real_limits();
        grant.keep_few_alternatives();
    }
    Ok(draft)
}

/// The architectures of the profile.
fn arches(recording: &Recording, options: &Options) -> Result<Vec<Arch>, GenerateError> {
    let mut counts: BTreeMap<Arch, u64> = BTreeMap::new();
    for (call, seen) in recording.calls() {
        let count = counts.entry(call.arch).or_default();
        *count = count.saturating_add(seen.count());
    }
    if counts.is_empty() {
        return Err(Kind::Empty.into());
    }
    let mut recorded: Vec<Arch> = counts.keys().copied().collect();
    recorded.sort_by_key(|arch| std::cmp::Reverse(counts.get(arch).copied()));
    let wanted = &options.arches;
    if wanted.is_empty() {
        return Ok(recorded);
    }
    if !wanted.iter().any(|arch| counts.contains_key(arch)) {
        return Err(Kind::NothingFor { wanted: wanted.clone(), recorded }.into());
    }
    // One that is named twice is one.
    let first =
        |(at, arch): &(usize, &Arch)| wanted.iter().position(|own| own == *arch) == Some(*at);
    Ok(wanted.iter().enumerate().filter(first).map(|(_, arch)| *arch).collect())
}

/// What was seen of a call of this name, on any architecture.
fn seen<'r>(
    recording: &'r Recording,
    name: &'static str,
) -> impl Iterator<Item = (CallId, &'r Seen)> {
    recording.calls().filter(move |(call, _)| call.name() == Some(name))
}

/// Limits the arguments of a recorded call.
fn limit(grant: &mut Grant, recorded: &Recording, arguments: Arguments) {
    if arguments == Arguments::Off {
        return;
    }
    if grant.name == "clone3" {
        let why = "its flags are in memory, where no filter sees them";
        grant.unlimited.push(Unlimited::new("uargs", why));
    }
    for limitable in limits::of(grant.name) {
        match limit_to(limitable, recorded, arguments) {
            Ok(limit) => grant.limits.push(limit),
            Err(unlimited) => grant.unlimited.push(unlimited),
        }
    }
}

/// The limit of an argument to what was recorded, or what speaks against it.
fn limit_to(
    limitable: &Limitable,
    recorded: &Recording,
    arguments: Arguments,
) -> Result<Limit, Unlimited> {
    let unlimited = |why: String| Unlimited::new(limitable.name, why);
    let index = usize::from(limitable.arg);
    let (mut all, mut each) = (Values::default(), Vec::new());
    for (call, seen) in seen(recorded, limitable.call) {
        if limitable.is_elsewhere(call.arch) {
            return Err(unlimited(format!("on {} it stands elsewhere", call.arch)));
        }
        if !seen.is_known(index) {
            let why = "its values are not known for all calls".to_owned();
            return Err(Unlimited { lacks_values: true, ..unlimited(why) });
        }
        if let Some(values) = seen.args().get(index) {
            let values = as_seen(values, call.arch);
            all.unite(&values);
            each.push((values, seen.runs()));
        }
    }
    let limit = limit_of(limitable, &all).ok_or_else(|| {
        unlimited(format!("more than {} values were seen", crate::recording::MAX_FEW))
    })?;
    if limitable.needs == Evidence::Stable && arguments != Arguments::All {
        each.iter()
            .try_for_each(|(values, runs)| is_stable(limitable, values, *runs))
            .map_err(unlimited)?;
    }
    Ok(limit)
}

/// Whether the values that a call had on one architecture, in so many runs, are taken for all that it needs;
/// what speaks against it otherwise.
fn is_stable(limitable: &Limitable, values: &Values, runs: u64) -> Result<(), String> {
    let mask = limitable.mask();
    let usual = |value: u64| limitable.usual.iter().any(|usual| usual & mask == value & mask);
    if runs > 1 {
        let in_all = |value: u64| {
            let mut same = values.runs().filter(|(other, _)| other & mask == value & mask);
            same.any(|(_, seen)| seen >= runs)
        };
        let same = values.runs().all(|(value, _)| usual(value) || in_all(value));
        return same.then_some(()).ok_or_else(|| "its values differ between recordings".to_owned());
    }
    let mut unusual: Vec<u64> =
        values.runs().filter(|(value, _)| !usual(*value)).map(|(value, _)| value & mask).collect();
    unusual.sort_unstable();
    unusual.dedup();
    let (seen, needed) = (values.observed(), PER_VALUE.saturating_mul(unusual.len() as u64));
    let rarely = || format!("seen too rarely: {seen} of the {needed} times that would do");
    (seen >= needed).then_some(()).ok_or_else(rarely)
}

/// Values as a filter sees them: narrow registers have low halves alone, whatever was written down.
fn as_seen(values: &Values, arch: Arch) -> Values {
    const LOW: u64 = u32::MAX as u64;
    match (values.all(), values.bounds()) {
        (Some(_), _) if !arch.has_wide_registers() => Values::of_runs(
            values.observed(),
            values.runs().map(|(value, runs)| (value & LOW, runs)),
        ),
        (None, Some(Bounds { ever, always, .. })) if !arch.has_wide_registers() => {
            let (ever, always) = (ever & LOW, always & LOW);
            Values::many(values.observed(), Bounds { min: always, max: ever, ever, always })
        }
        _ => values.clone(),
    }
}

/// A limit to the values that were seen and those that libraries may use on any day.
fn limit_of(limitable: &Limitable, values: &Values) -> Option<Limit> {
    let Limitable { arg, name, why, .. } = *limitable;
    let mut limit = Limit::of(arg, name, limitable.mask(), why, values)?;
    limit.widen(limitable.usual);
    Some(limit)
}

impl Draft {
    /// Whether a unit of systemd grants a call.
    pub(super) fn is_granted(&self, name: &str) -> bool {
        let also = self.granted_by(Form::Systemd).any(|granted| granted == name);
        (self.grants.contains_key(name) || also) && self.can_name(Form::Systemd, name)
    }

    fn exists(&self, name: &str) -> bool {
        self.arches.iter().any(|arch| arch.number(name).is_some())
    }

    /// Whether a call is granted or refused.
    fn decides(&self, name: &str) -> bool {
        self.grants.contains_key(name) || self.refused.contains(&name)
    }

    /// The only limitable argument of a call limited to some values, where it stands at the same place
    /// everywhere.
    fn only_limit(&self, name: &str, values: &[u64]) -> Option<Limit> {
        let limitable = limits::of(name).next()?;
        if self.arches.iter().any(|arch| limitable.is_elsewhere(*arch)) {
            return None;
        }
        limit_of(limitable, &Values::few(values.len() as u64, values.iter().copied()))
    }

    /// Grants what whoever installs the filter needs.
    fn add_runtime(&mut self, arguments: Arguments) {
        for Needed { name, values } in self.runtime.needs() {
            if !self.exists(name) {
                continue;
            }
            let fresh = match values {
                Some(values) if arguments != Arguments::Off => self.only_limit(name, values),
                _ => None,
            };
            let runtime = self.runtime;
            match self.grants.get_mut(name) {
                Some(grant) => {
                    grant.at_start = true;
                    match values {
                        Some(values) => {
                            grant.limits.iter_mut().for_each(|limit| limit.widen(values));
                        }
                        None => grant.unlimited.extend(grant.limits.drain(..).map(|limit| {
                            let why = format!("{} needs it with more values", runtime.name());
                            Unlimited::new(limit.name, why)
                        })),
                    }
                }
                None => {
                    let mut grant = Grant::new(name, Reason::Runtime);
                    grant.at_start = true;
                    grant.limits.extend(fresh);
                    self.grants.insert(name, grant);
                }
            }
        }
    }

    /// Grants what the kernel makes any program call.
    fn add_calls_by_kernel(&mut self) {
        for name in BY_KERNEL.iter().copied() {
            if self.exists(name) {
                self.grants.entry(name).or_insert_with(|| Grant::new(name, Reason::Kernel));
            }
        }
    }

    /// Grants what stands for recorded calls.
    fn complete(&mut self, arguments: Arguments) {
        let recorded: Vec<Grant> =
            self.grants.values().filter(|g| g.is_recorded()).cloned().collect();
        for grant in &recorded {
            for family in families::of(grant.name) {
                for name in family.names.iter().copied() {
                    if self.grants.contains_key(name) || !self.exists(name) {
                        continue;
                    }
                    let reason = Reason::Sibling { of: grant.name, why: family.why };
                    let mut sibling = Grant::new(name, reason);
                    if family.same_arguments {
                        if !grant.limits.is_empty() && self.is_elsewhere(name) {
                            continue;
                        }
                        sibling.limits = grant.limits.clone();
                    }
                    if name == "clone3" && self.is_limited("clone") {
                        // Its flags are in memory, where no filter sees them: it would undo the limit,
                        // whatever call of the family was recorded. Libraries fall back to clone when it
                        // is not there.
                        self.refused.push(name);
                        continue;
                    }
                    if name == "clone" && arguments != Arguments::Off {
                        // Nobody creates a namespace by calling another one of the family.
                        sibling.limits.extend(self.only_limit(name, &[0]));
                    }
                    self.grants.insert(name, sibling);
                }
            }
        }
        for grant in &recorded {
            for company in families::company(grant.name) {
                for Needed { name, values } in company.calls {
                    if !self.exists(name) {
                        continue;
                    }
                    if let Some(known) = self.grants.get_mut(*name) {
                        let values = values.unwrap_or_default();
                        known.limits.iter_mut().for_each(|limit| limit.widen(values));
                        continue;
                    }
                    let reason = Reason::Sibling { of: grant.name, why: company.why };
                    let mut other = Grant::new(name, reason);
                    if let Some(values) = values.filter(|_| arguments != Arguments::Off) {
                        // Where it cannot be limited, it would be more than comes by chance.
                        let Some(limit) = self.only_limit(name, values) else { continue };
                        other.limits.push(limit);
                    }
                    self.grants.insert(name, other);
                }
            }
        }
        self.refused.sort_unstable();
        self.refused.dedup();
        let granted = &self.grants;
        self.refused.retain(|name| !granted.contains_key(name));
    }

    fn is_limited(&self, name: &str) -> bool {
        self.grants.get(name).is_some_and(|grant| !grant.limits.is_empty())
    }

    fn is_elsewhere(&self, name: &str) -> bool {
        limits::of(name)
            .any(|limitable| self.arches.iter().any(|arch| limitable.is_elsewhere(*arch)))
    }
}
