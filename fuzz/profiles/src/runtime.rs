//! The filter that a runtime builds from a profile: which entries apply, which rules it adds to libseccomp's filter,
//! and which profiles it refuses.
//!
//! Sources of the facts: moby's `profiles/seccomp`, containers/common's `pkg/seccomp`, runc's
//! `libcontainer/specconv` and `libcontainer/seccomp` with `patchbpf` (1.1 to 1.5), crun's
//! `src/libcrun/seccomp.c`, libseccomp-golang, libseccomp's `src/db.c`, `src/arch.c`, `src/syscalls.c`
//! and `src/gen_bpf.c` (2.5.4 and 2.6.1).

use std::collections::BTreeMap;

use crate::document::{self, Arg, Document, Entry, Fields, Style};
use crate::machine::{Machine, Multiplexed, X32_BIT, known_names};
use crate::rule::{Comparison, Op};
use crate::rules::RuleSet;
use crate::tree::Conflict;

/// Whose interpretation of a profile applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names of the dialects")]
pub enum Dialect {
    Oci,
    Docker,
    Podman,
    Runc,
    Crun,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 5] =
        [Dialect::Oci, Dialect::Docker, Dialect::Podman, Dialect::Runc, Dialect::Crun];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Oci => "oci",
            Dialect::Docker => "docker",
            Dialect::Podman => "podman",
            Dialect::Runc => "runc",
            Dialect::Crun => "crun",
        }
    }

    /// Whether runc builds the filter.
    fn is_runc(self) -> bool {
        matches!(self, Dialect::Runc | Dialect::Docker)
    }

    /// Whether crun builds the filter by default.
    fn is_crun(self) -> bool {
        matches!(self, Dialect::Crun | Dialect::Podman)
    }

    fn style(self) -> (Style, Fields) {
        match self {
            Dialect::Oci => (Style::Schema, Fields::Oci),
            Dialect::Docker => (Style::Go, Fields::Docker),
            Dialect::Podman => (Style::Go, Fields::Podman),
            Dialect::Runc => (Style::Go, Fields::Oci),
            Dialect::Crun => (Style::Yajl, Fields::Oci),
        }
    }
}

/// The host of a container.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Whose interpretation applies.
    pub dialect: Dialect,
    /// The native architecture.
    pub native: Machine,
    /// The capabilities of the container.
    pub caps: Vec<&'static str>,
    /// The kernel's version, its first two numbers.
    pub kernel: (u16, u16),
    /// The version of runc, if runc builds the filter.
    pub runc: Runc,
}

/// Versions of runc, which differ in the architectures for which they prepend code to the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runc {
    /// 1.1.3 to 1.1.14: those that the profile lists.
    Listed,
    /// 1.1.15, and 1.2 to 1.5: all those of the filter.
    All,
}

/// The result.
#[derive(Debug)]
pub struct Meaning {
    /// Why a strict reader may refuse the text although the runtime does not: programs interpret it differently, or it
    /// violates the format.
    pub doubt: Option<&'static str>,
    /// The filter, `None` if none is installed, or why the runtime refuses the profile.
    pub outcome: Result<Option<Filter>, Refusal>,
}

impl Meaning {
    /// Whether the prediction that the runtime accepts or refuses the profile is certain.
    pub fn is_certain(&self) -> bool {
        match &self.outcome {
            Ok(None) => true,
            Ok(Some(filter)) => !filter.sets().any(RuleSet::is_uncertain),
            Err(refusal) => refusal.is_certain,
        }
    }
}

/// Why a runtime refuses a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub why: String,
    /// Whether the refusal is certain ([`crate::tree`]).
    pub is_certain: bool,
}

impl From<String> for Refusal {
    fn from(why: String) -> Refusal {
        Refusal { why, is_certain: true }
    }
}

/// Reads a profile like the host's programs.
pub fn read(text: &str, host: &Host) -> Meaning {
    let (style, fields) = host.dialect.style();
    match document::read(text, style, fields) {
        Err(why) => Meaning { doubt: None, outcome: Err(why.into()) },
        Ok(document) => {
            let doubt = doubt(&document);
            let profile = Profile::new(document, host);
            let outcome = profile
                .map_err(Refusal::from)
                .and_then(|profile| profile.map(Profile::filter).transpose());
            let undecided = matches!(&outcome, Ok(Some(filter)) if filter.undecided);
            let doubt = doubt.or(undecided.then_some("two actions for one condition"));
            Meaning { doubt, outcome }
        }
    }
}

/// Why a strict reader may refuse a profile: it contains something that runtimes silently ignore or truncate.
fn doubt(document: &Document) -> Option<&'static str> {
    let too_large = |errno: &Option<u64>, name: &str| {
        errno.is_some_and(|errno| errno > 4095) || name.parse().is_ok_and(|errno: u64| errno > 4095)
    };
    let entries = &document.entries;
    let unnamed = |entry: &Entry| entry.names.is_empty() == entry.name.is_empty();
    let bad_arg = |arg: &Arg| arg.index > 5 || Op::from_name(&arg.op).is_none();
    let bad = |entry: &Entry| {
        action(&entry.action, 0).is_err()
            || (entry.errno.is_some() || !entry.errno_name.is_empty())
                && !takes_errno(&entry.action)
            || entry.errno_name == "ENOTANERRNO"
            || entry.args.iter().any(bad_arg)
    };
    let no_version = |filter: &document::Filter| filter.min_kernel.as_deref() == Some("0.0");
    let rows = &document.arch_map;
    let subs = rows.iter().flat_map(|row| &row.sub_architectures);
    let mut mapped = rows.iter().map(|row| &row.architecture).chain(subs);
    if document.doubt.is_some() {
        document.doubt
    } else if entries.iter().any(unnamed) {
        Some("an entry without a name, or with `name` and `names`")
    } else if entries.iter().any(bad) {
        Some("an entry that is skipped has an unknown action, errno, operator or argument")
    } else if too_large(&document.default_errno, &document.default_errno_name)
        || entries.iter().any(|entry| too_large(&entry.errno, &entry.errno_name))
    {
        Some("an errno is cut to 16 bits")
    } else if entries.iter().any(|entry| no_version(&entry.includes) || no_version(&entry.excludes))
    {
        Some("an empty version")
    } else if mapped.any(|name| machine_of(name).is_none()) {
        Some("a row of archMap has an unknown architecture")
    } else if document.default_action.is_empty() {
        Some("no default action")
    } else if document.default_action == "SCMP_ACT_ALLOW" && entries.is_empty() {
        Some("a filter that does nothing")
    } else {
        None
    }
}

/// The machine of an architecture in a profile.
fn machine_of(name: &str) -> Option<Machine> {
    Machine::ALL.into_iter().find(|machine| machine.oci_name() == *name)
}

/// A filter.
#[derive(Debug)]
pub struct Filter {
    default: u32,
    sections: Vec<(Machine, BTreeMap<u32, RuleSet>)>,
    /// Rules of syscalls that an architecture does not have: no verdict depends on them, but they may conflict.
    absent: BTreeMap<(Machine, String), RuleSet>,
    /// Whether only the specification applies, which has no conflicts, and whether there was a conflict.
    is_text: bool,
    undecided: bool,
    /// The code that runc prepends: for each architecture the largest number in the profile.
    largest: BTreeMap<Machine, u32>,
}

/// A defect of libseccomp (2.5.4 to 2.6.1) by which its programs contradict its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contradiction {
    /// Rules with ordered comparisons or `!=` share parts of the program.
    SharedComparisons,
    /// The program does not load the number of the syscall.
    NumberNotLoaded,
}

/// Returned for architectures that a filter does not know: libseccomp's `SCMP_ACT_KILL`.
const BAD_ARCH: u32 = 0;

/// The input of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The arch word.
    pub token: u32,
    /// The number.
    pub nr: u32,
    /// The instruction pointer.
    pub ip: u64,
    /// The arguments.
    pub args: [u64; 6],
}

impl Filter {
    /// Its architectures.
    pub fn machines(&self) -> impl Iterator<Item = Machine> {
        self.sections.iter().map(|(machine, _)| *machine)
    }

    /// The rules of the syscall, and the verdicts that precede or replace them.
    fn rules(&self, call: &Call) -> Result<Option<&RuleSet>, u32> {
        let of = |wanted: u32| {
            self.sections.iter().filter(move |(machine, _)| machine.token() == wanted)
        };
        for (machine, _) in of(call.token) {
            let Some(largest) = self.largest.get(machine) else { continue };
            let is_x86_64 = matches!(machine, Machine::X86_64 | Machine::X32);
            if is_x86_64 && (call.nr & X32_BIT != 0) != (*machine == Machine::X32) {
                continue;
            }
            // On s390, syscalls with large numbers are made through number 0.
            let setup = matches!(machine, Machine::S390 | Machine::S390x) && call.nr == 0;
            if call.nr > *largest || setup {
                return Err(0x0005_0000 | machine.enosys());
            }
        }
        let machines: Vec<Machine> = of(call.token).map(|(machine, _)| *machine).collect();
        if machines.is_empty() {
            return Err(BAD_ARCH);
        }
        if machines == [Machine::X86_64] && call.nr >= X32_BIT && call.nr != u32::MAX {
            return Err(BAD_ARCH);
        }
        if machines == [Machine::X32] && call.nr < X32_BIT {
            return Err(BAD_ARCH);
        }
        Ok(of(call.token).find_map(|(_, calls)| calls.get(&call.nr)))
    }

    /// The verdict.
    pub fn verdict(&self, call: &Call) -> u32 {
        match self.rules(call) {
            Err(verdict) => verdict,
            Ok(rules) => rules.and_then(|rules| rules.verdict(&call.args)).unwrap_or(self.default),
        }
    }

    /// Whether a verdict is correct ([`RuleSet::allows`]).
    pub fn allows(&self, call: &Call, verdict: u32) -> bool {
        let allows = |rules: &RuleSet| rules.allows(&call.args, verdict);
        self.verdict(call) == verdict
            || self.rules(call).is_ok_and(|rules| rules.is_some_and(allows))
    }

    /// The verdict of the program that libseccomp generates ([`RuleSet::generated`]).
    pub fn generated(&self, call: &Call) -> u32 {
        match self.rules(call) {
            Err(verdict) => verdict,
            Ok(_) if self.is_number_missing(call.token) => self.default,
            Ok(rules) => {
                rules.and_then(|rules| rules.generated(&call.args)).unwrap_or(self.default)
            }
        }
    }

    /// The defect because of which libseccomp's program for the syscall may contradict its rules, if any.
    pub fn contradiction(&self, call: &Call) -> Option<Contradiction> {
        let rules = self.rules(call).ok()?;
        if self.is_number_missing(call.token) {
            return Some(Contradiction::NumberNotLoaded);
        }
        rules.filter(|rules| rules.is_contradictable()).map(|_| Contradiction::SharedComparisons)
    }

    /// Whether the program of an architecture compares syscall numbers without loading the number: libseccomp loads it
    /// with the rules of the syscall that has the fewest comparisons, and omits these rules if the architecture does not
    /// have that syscall. For x86_64 without x32, or the reverse, the number is loaded before.
    fn is_number_missing(&self, token: u32) -> bool {
        let machines = self.machines().filter(|machine| machine.token() == token);
        let machines: Vec<Machine> = machines.collect();
        if matches!(machines[..], [Machine::X86_64 | Machine::X32]) {
            return false;
        }
        let of = |machine: &Machine| machine.token() == token;
        let here = self.sections.iter().filter(|(machine, _)| of(machine));
        let present = here.flat_map(|(_, calls)| calls.values().map(RuleSet::size)).min();
        let others = self.absent.iter().filter(|((machine, _), _)| of(machine));
        let absent = others.map(|(_, rules)| rules.size()).min();
        present.zip(absent).is_some_and(|(present, absent)| absent < present)
    }

    /// The rules of all syscalls.
    fn sets(&self) -> impl Iterator<Item = &RuleSet> {
        let present = self.sections.iter().flat_map(|(_, calls)| calls.values());
        present.chain(self.absent.values())
    }

    /// Whether libseccomp may hang for the rules.
    pub fn is_corrupt(&self) -> bool {
        self.sets().any(RuleSet::is_corrupt)
    }
}

struct Profile<'a> {
    document: Document,
    host: &'a Host,
}

/// An action and its data.
fn action(name: &str, errno: u64) -> Result<u32, String> {
    let data = (errno & 0xffff) as u32;
    Ok(match name {
        "SCMP_ACT_KILL" | "SCMP_ACT_KILL_THREAD" => 0,
        "SCMP_ACT_KILL_PROCESS" => 0x8000_0000,
        "SCMP_ACT_TRAP" => 0x0003_0000,
        "SCMP_ACT_ERRNO" => 0x0005_0000 | data,
        "SCMP_ACT_TRACE" => 0x7ff0_0000 | data,
        "SCMP_ACT_LOG" => 0x7ffc_0000,
        "SCMP_ACT_ALLOW" => 0x7fff_0000,
        "SCMP_ACT_NOTIFY" => NOTIFY,
        _ => return Err(format!("unknown action {name:?}")),
    })
}

const NOTIFY: u32 = 0x7fc0_0000;

/// The flags that runc (from 1.2 on) and crun know.
const FLAGS: [&str; 4] = [
    "SECCOMP_FILTER_FLAG_TSYNC",
    "SECCOMP_FILTER_FLAG_LOG",
    "SECCOMP_FILTER_FLAG_SPEC_ALLOW",
    "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV",
];

/// Checks that libseccomp accepts the action: an errno must be below `MAX_ERRNO`, although the kernel accepts that
/// value too.
fn check_action(action: u32, dialect: Dialect) -> Result<(), String> {
    let limit = if dialect == Dialect::Oci { 4096 } else { 4095 };
    match action & 0xffff_0000 == 0x0005_0000 && action & 0xffff >= limit {
        true => Err(format!("errno {} is too large", action & 0xffff)),
        false => Ok(()),
    }
}

impl<'a> Profile<'a> {
    /// Applies the extensions of Docker and Podman; `None` if there is no filter.
    fn new(mut document: Document, host: &'a Host) -> Result<Option<Profile<'a>>, String> {
        let is_off = |document: &Document| {
            document.default_action.is_empty()
                && document.entries.is_empty()
                && !matches!(host.dialect, Dialect::Oci | Dialect::Crun)
        };
        if is_off(&document) {
            return Ok(None);
        }
        let own = match host.dialect {
            Dialect::Docker => host.native.docker_name(),
            Dialect::Podman => host.native.podman_name(),
            _ => return Ok(Some(Profile { document, host })),
        };
        if !document.architectures.is_empty() && !document.arch_map.is_empty() {
            return Err("both architectures and archMap".to_owned());
        }
        // Podman compares with a short list of names; LoongArch is missing in Docker's because of a typo.
        let mapped = match host.dialect {
            Dialect::Docker => !own.is_empty() && host.native != Machine::Loongarch64,
            _ => {
                let known =
                    ["amd64", "arm64", "mips64", "mips64n32", "mipsel64", "mipsel64n32", "s390x"];
                known.contains(&own)
            }
        };
        let native = host.native.oci_name();
        if let Some(row) = document.arch_map.iter().find(|row| mapped && row.architecture == native)
        {
            document.architectures = vec![native];
            document.architectures.extend(row.sub_architectures.clone());
        }
        let mut entries = Vec::new();
        for mut entry in std::mem::take(&mut document.entries) {
            let both = !entry.name.is_empty() && !entry.names.is_empty();
            if both && host.dialect == Dialect::Docker {
                return Err("both name and names".to_owned());
            }
            if !applies(&entry, host, own) {
                continue;
            }
            if both {
                return Err("both name and names".to_owned());
            }
            if !entry.name.is_empty() {
                entry.names = vec![std::mem::take(&mut entry.name)];
            }
            if host.dialect == Dialect::Podman {
                entry.errno = podman_errno(&entry.errno_name, entry.errno, host)?;
                if entry.names.is_empty() {
                    continue;
                }
            }
            entries.push(entry);
        }
        document.entries = entries;
        if host.dialect == Dialect::Podman {
            let (name, number) = (&document.default_errno_name, document.default_errno);
            document.default_errno = podman_errno(name, number, host)?;
        }
        // runc checks the remaining entries again; crun does not.
        let off = host.dialect == Dialect::Docker && is_off(&document);
        Ok((!off).then_some(Profile { document, host }))
    }

    /// The filter that libseccomp and the runtime build.
    fn filter(self) -> Result<Filter, Refusal> {
        let (document, dialect) = (&self.document, self.host.dialect);
        if let Some(flag) = document.flags.iter().find(|flag| !FLAGS.contains(&flag.as_str())) {
            return Err(format!("unknown flag {flag:?}").into());
        }
        if !dialect.is_runc() {
            check_errno_taken(&document.default_action, document.default_errno)?;
        }
        let default = action(&document.default_action, document.default_errno.unwrap_or(1))?;
        check_action(default, dialect)?;
        if default == NOTIFY && dialect.is_runc() {
            return Err("SCMP_ACT_NOTIFY as default action".to_owned().into());
        }
        let mut filter = Filter {
            default,
            sections: Vec::new(),
            absent: BTreeMap::new(),
            is_text: dialect == Dialect::Oci,
            undecided: false,
            largest: BTreeMap::new(),
        };
        let mut machines = vec![self.host.native];
        for name in &document.architectures {
            let machine =
                machine_of(name).ok_or_else(|| format!("unknown architecture {name:?}"))?;
            if machine.is_big_endian() != self.host.native.is_big_endian() {
                return Err(format!("{name} has another byte order").into());
            }
            if !machines.contains(&machine) {
                machines.push(machine);
            }
        }
        for machine in machines {
            filter.sections.push((machine, BTreeMap::new()));
        }
        for entry in &document.entries {
            self.entry(&mut filter, entry)?;
        }
        if dialect.is_runc() && !is_permissive(default) {
            self.largest(&mut filter);
        }
        for (_, calls) in &mut filter.sections {
            calls.values_mut().for_each(RuleSet::finish);
        }
        Ok(filter)
    }

    /// Adds the rules of an entry.
    fn entry(&self, filter: &mut Filter, entry: &Entry) -> Result<(), Refusal> {
        let dialect = self.host.dialect;
        if !dialect.is_runc() {
            check_errno_taken(&entry.action, entry.errno)?;
        }
        let verdict = action(&entry.action, entry.errno.unwrap_or(1))?;
        let skipped = verdict == filter.default;
        let args = match dialect.is_crun() {
            // crun reads only the first six, and none of an entry that it skips.
            true if skipped => &[],
            true => entry.args.get(..6).unwrap_or(&entry.args),
            false => entry.args.as_slice(),
        };
        let tests = args.iter().map(|arg| self.comparison(arg)).collect::<Result<Vec<_>, _>>();
        for name in &entry.names {
            // runc reads operators of every entry with names.
            let tests = tests.as_ref().map_err(Clone::clone)?;
            if dialect.is_runc() && verdict == NOTIFY && name == "write" {
                return Err("SCMP_ACT_NOTIFY for write".to_owned().into());
            }
            if dialect.is_runc() && name.is_empty() {
                return Err("an empty name".to_owned().into());
            }
            let never = |test: &Comparison| test.op == Op::MaskedEq && test.datum & !test.mask != 0;
            if skipped || tests.iter().any(never) || !known_names().contains(name.as_str()) {
                continue;
            }
            check_action(verdict, dialect)?;
            if let Some(test) = tests.iter().find(|test| test.arg > 5) {
                return Err(format!("argument {}", test.arg).into());
            }
            let repeats = |i: usize| tests[..i].iter().any(|test| test.arg == tests[i].arg);
            if dialect != Dialect::Oci && (0..tests.len()).any(repeats) {
                for test in tests {
                    filter.add(name, &[*test], verdict)?;
                }
            } else {
                filter.add(name, tests, verdict)?;
            }
        }
        Ok(())
    }

    fn comparison(&self, arg: &Arg) -> Result<Comparison, String> {
        let op = Op::from_name(&arg.op).ok_or_else(|| format!("unknown operator {:?}", arg.op))?;
        let (mask, datum) = match op {
            Op::MaskedEq => (arg.value, arg.value_two),
            _ => (u64::MAX, arg.value),
        };
        // libseccomp truncates the datum to the mask; according to the specification, such a comparison never holds.
        let (mask, datum) = match self.host.dialect {
            Dialect::Oci => (mask, datum),
            _ => (mask, datum & mask),
        };
        Ok(Comparison { arg: arg.index.min(6) as usize, op, mask, datum })
    }

    /// Finds the largest numbers, for the code that runc prepends.
    fn largest(&self, filter: &mut Filter) {
        let names = || self.document.entries.iter().flat_map(|entry| &entry.names);
        let listed = |machine: &Machine| self.document.architectures.contains(&machine.oci_name());
        for (machine, _) in &filter.sections {
            if self.host.runc == Runc::Listed && !listed(machine) {
                continue;
            }
            // Names that libseccomp resolves to its negative pseudo-numbers do not count.
            let numbers = names().filter(|name| machine.multiplexed(name).is_none());
            let largest = numbers.filter_map(|name| machine.number(name)).max().unwrap_or(0);
            if largest > 0 {
                filter.largest.insert(*machine, largest);
            }
        }
    }
}

/// Whether runc prepends nothing for this default action.
fn is_permissive(default: u32) -> bool {
    matches!(default & 0xffff_0000, 0x7fff_0000 | 0x7ffc_0000 | 0x7ff0_0000)
}

fn takes_errno(action: &str) -> bool {
    matches!(action, "SCMP_ACT_ERRNO" | "SCMP_ACT_TRACE")
}

/// An errno for an action without errno is an error in the specification and in crun.
fn check_errno_taken(action: &str, errno: Option<u64>) -> Result<(), String> {
    match errno.is_some() && !takes_errno(action) {
        true => Err(format!("an errno for {action}")),
        false => Ok(()),
    }
}

/// The errno of Podman's fields: a name or a number as text takes precedence over the number.
fn podman_errno(name: &str, number: Option<u64>, host: &Host) -> Result<Option<u64>, String> {
    if name.is_empty() {
        return Ok(number);
    }
    let digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    if let (true, Ok(number)) = (digits, name.parse::<u32>()) {
        return Ok(Some(number.into()));
    }
    let names = [
        ("EPERM", 1),
        ("ENOENT", 2),
        ("EACCES", 13),
        ("EINVAL", 22),
        ("ENOSYS", host.native.enosys()),
    ];
    let known = names.into_iter().find(|(known, _)| *known == name);
    known.map(|(_, number)| Some(number.into())).ok_or_else(|| format!("unknown errno {name:?}"))
}

/// Whether an entry applies: first its `excludes`, then its `includes`.
fn applies(entry: &Entry, host: &Host, own: &str) -> bool {
    let has = |cap: &String| host.caps.contains(&cap.as_str());
    let reached = |version: &String| {
        let (kernel, major) = version.split_once('.').unwrap_or_default();
        host.kernel >= (kernel.parse().unwrap_or(0), major.parse().unwrap_or(0))
    };
    let (excludes, includes) = (&entry.excludes, &entry.includes);
    let excluded = excludes.arches.iter().any(|arch| arch == own)
        || excludes.caps.iter().any(has)
        || excludes.min_kernel.as_ref().is_some_and(reached);
    let included = (includes.arches.is_empty() || includes.arches.iter().any(|arch| arch == own))
        && includes.caps.iter().all(has)
        && includes.min_kernel.as_ref().is_none_or(reached);
    !excluded && included
}

impl Filter {
    /// Adds one rule of libseccomp to all architectures.
    fn add(&mut self, name: &str, tests: &[Comparison], verdict: u32) -> Result<(), Refusal> {
        for (machine, calls) in &mut self.sections {
            let new = || RuleSet::new(machine.is_wide());
            let mut put = |set: &mut RuleSet, tests: &[Comparison]| match set.add(tests, verdict) {
                Err(_) if self.is_text => {
                    self.undecided = true;
                    Ok(())
                }
                Err(Conflict { is_certain }) => {
                    let machine = machine.name();
                    let why =
                        format!("another action for the same condition of {name} on {machine}");
                    Err(Refusal { why, is_certain })
                }
                _ => Ok(()),
            };
            if let Some(Multiplexed { number, call }) = machine.multiplexed(name) {
                let by_call = Comparison { arg: 0, op: Op::Eq, mask: u64::MAX, datum: call };
                let others = tests.iter().filter(|test| test.arg != 0).copied();
                let tests: Vec<_> = std::iter::once(by_call).chain(others).collect();
                put(calls.entry(number).or_insert_with(new), &tests)?;
            }
            match machine.number(name) {
                Some(number) => put(calls.entry(number).or_insert_with(new), tests)?,
                // For multiplexed syscalls, libseccomp omits variants that the architecture does not have.
                None if machine.multiplexes() && machine.multiplexed(name).is_none() => {}
                None => {
                    let key = (*machine, name.to_owned());
                    put(self.absent.entry(key).or_insert_with(new), tests)?;
                }
            }
        }
        Ok(())
    }
}
