//! Reads profiles: from the text to a [`Profile`].

use std::collections::BTreeSet;

use super::parse::{Model, Rule, Rules, Target, compat_arches, host_of, parse};
use crate::profile::Profile;
use crate::rule_readers::{
    ComparisonBudget, Origin, Words, report_overridden, report_rejected, report_unknown_syscall,
    rules_of,
};
use crate::ruleset::{RuleSet, sections};
use crate::statements::{Statements, other_abis};
use crate::syntax::reader::{KeyMatching, Reader};
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Diagnostics;
use callgate_bpf::syscalls::is_known_name;
use callgate_core::policy::Policy;
use callgate_core::{Action, Arch, Verdict};

/// Reads a profile.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::lxc::{ReadOptions, read};
///
/// let text = "2\ndenylist\n[all]\nkexec_load errno 1\nsocket errno 97 [0,10,==]\n";
/// let profile = read(text, &ReadOptions::new(Arch::X86_64))?;
/// let mut socket = SeccompData { nr: 41, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(profile.policy.evaluate(&socket), Verdict::ALLOW);
/// socket.args[0] = 10;
/// assert_eq!(profile.policy.evaluate(&socket), Verdict::errno(97));
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// All messages about the text, including warnings, if at least one is an error.
pub fn read(text: &str, options: &ReadOptions) -> Result<Profile, Diagnostics> {
    let mut reader = Reader::new(text, KeyMatching::Exact);
    let native = host_of(options.native);
    let model = parse(&mut reader, text, native).filter(|_| !reader.failed());
    let lowered = model.and_then(|model| lower(&mut reader, &model, native, options));
    let (profile, warnings) = reader.end(lowered)?;
    Ok(Profile { warnings, ..profile })
}

/// What a profile is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architecture of the host. x32 stands for x86_64, and the n32 ABIs of MIPS for the 64-bit ones.
    pub native: Arch,
    /// Whether a name that no architecture has is an error instead of a warning.
    pub strict: bool,
    /// Whether the result has [`statements`](crate::Profile::statements).
    pub statements: bool,
}

impl ReadOptions {
    /// Reads for a host.
    pub fn new(native: Arch) -> ReadOptions {
        ReadOptions { native, strict: false, statements: false }
    }
}

/// The verdict for syscalls of other architectures: libseccomp's default.
const BAD_ARCH: Verdict = Verdict::KILL_THREAD;

/// The largest errno that libseccomp accepts, one less than the kernel's.
const MAX_ERRNO: u16 = 4094;

/// How messages about rejected rules name the parts of a profile.
const WORDS: Words = Words { unit: "line", consequence: "so the container would not start" };

/// The rule sets, the native one first.
struct Lowering<'n> {
    /// The verdict of syscalls without a rule.
    default: Verdict,
    is_strict: bool,
    sets: Vec<RuleSet<Origin<'n>>>,
    budget: ComparisonBudget,
    /// Rules without comparisons that were added, which do not matter again.
    given: BTreeSet<(&'n str, u32)>,
    /// Whether the warning about syscalls behind `socketcall` and `ipc` was given.
    warned: bool,
}

/// Turns a profile into a policy, with its statements if the options ask for them. `None` only after an error was reported.
pub(super) fn lower(
    reader: &mut Reader<'_>,
    model: &Model<'_>,
    native: Arch,
    options: &ReadOptions,
) -> Option<Profile> {
    check_errno(reader, model.default, model.default_at);
    let compat = match model.rules {
        Rules::Numbers(_) => &[][..],
        Rules::Named(_) => compat_arches(native),
    };
    let arches = std::iter::once(&native).chain(compat);
    let sets = arches.map(|arch| RuleSet::new(*arch)).collect();
    let mut lowering = Lowering {
        default: model.default,
        is_strict: options.strict,
        sets,
        budget: ComparisonBudget::default(),
        given: BTreeSet::new(),
        warned: false,
    };
    match &model.rules {
        Rules::Numbers(numbers) => lowering.numbers(reader, numbers)?,
        Rules::Named(rules) => {
            for rule in rules {
                lowering.rule(reader, rule)?;
            }
        }
    }
    let sets = lowering.sets;
    report_overridden(reader, sets.iter().flat_map(RuleSet::overridden).collect());
    report_rejected(reader, &sets, WORDS);
    if !reader.failed() && sets.iter().all(RuleSet::is_empty) {
        let message = format!("no rule has an effect: every syscall gets {}", model.default);
        reader.warn(model.default_at, message).help =
            "add rules, or sections for this host's architecture".to_owned();
    }
    let sections = sections(&sets, model.default, BAD_ARCH);
    let statements = options.statements.then(|| Statements {
        rules: rules_of(reader, &sets),
        inactive: Vec::new(),
        gated: Vec::new(),
        builtin: other_abis(&sections, BAD_ARCH),
        default: Some(reader.site(model.default_at)),
    });
    let policy = reader.accept(model.default_at, Policy::new(sections, BAD_ARCH))?;
    Some(Profile { statements, ..Profile::of(policy) })
}

impl<'n> Lowering<'n> {
    /// Version 1.
    fn numbers(&mut self, reader: &mut Reader<'_>, numbers: &[(usize, i32)]) -> Option<()> {
        let mut given = BTreeSet::new();
        for (at, nr) in numbers.iter().copied().filter(|(_, nr)| given.insert(*nr)) {
            self.budget.spend(reader, 1, 1, at)?;
            let Some(set) = self.sets.first_mut() else { continue };
            if nr < 0 {
                let message = format!("{nr} is not the number of a syscall");
                reader.error(at, message).help =
                    "LXC passes it to libseccomp, which rejects -1 and has its own numbers below; remove it"
                        .to_owned();
                continue;
            }
            if set.arch() == Arch::X86_64 && nr >= 1 << 30 {
                let message = format!("{nr} is a number of x32, which version 1 kills");
                reader.warn(at, message).help = "use version 2, which has x32".to_owned();
                continue;
            }
            match set.arch().syscall_name(nr as u32) {
                // The name also adds the rule for `socketcall` or `ipc`, where they reach the syscall.
                Some(name) => {
                    set.add_syscall_if_known(name, &[], Verdict::ALLOW, (at, name));
                }
                None => set.add(nr as u32, &[], Verdict::ALLOW, (at, "?")),
            }
        }
        Some(())
    }

    fn rule(&mut self, reader: &mut Reader<'_>, rule: &Rule<'n>) -> Option<()> {
        let default = self.default;
        let name = match rule.target {
            Target::ForcedUmount => "umount2",
            Target::Syscall(name) => name,
        };
        if !is_known_name(name) {
            report_unknown(reader, name, rule.at, self.is_strict);
            return Some(());
        }
        let is_new = !rule.comparisons.is_empty() || self.given.insert((name, rule.verdict.0));
        if !is_new {
            return Some(());
        }
        self.budget.spend(reader, rule.comparisons.len(), self.sets.len(), rule.at)?;
        let mut is_added = false;
        for set in &mut self.sets {
            let arch = set.arch();
            match (arch.number(name), arch.multiplexed(name)) {
                (_, Some((multiplexer, _))) if !self.warned => {
                    self.warned = true;
                    let message = format!(
                        "on {arch}, LXC adds no rules for syscalls that `{multiplexer}` also reaches, such as `{name}`: \
                         they get {default}"
                    );
                    reader.warn(rule.at, message).help =
                        format!("to restrict them there, add a rule for `{multiplexer}`");
                }
                (Some(nr), None) => {
                    is_added = true;
                    set.add(nr, &rule.comparisons, rule.verdict, (rule.at, name));
                }
                _ => {}
            }
        }
        if is_added && rule.verdict == default {
            let message = format!(
                "the rule for `{name}` has the action of syscalls without a rule, {default}"
            );
            reader.error(rule.at, message).help =
                "libseccomp rejects it, so the container would not start; remove it".to_owned();
        } else if is_added {
            check_errno(reader, rule.verdict, rule.at);
        }
        Some(())
    }
}

fn check_errno(reader: &mut Reader<'_>, verdict: Verdict, at: usize) {
    if verdict.action() == Action::Errno(verdict.data()) && verdict.data() > MAX_ERRNO {
        let message = format!(
            "the errno is {}; libseccomp's limit is {MAX_ERRNO}, so the container would not start",
            verdict.data()
        );
        reader.error(at, message).help = "use an errno that exists".to_owned();
    }
}

/// Reports a name that no architecture has, which LXC skips.
fn report_unknown(reader: &mut Reader<'_>, name: &str, at: usize, is_strict: bool) {
    let help = if name.is_empty() {
        Some("LXC reads the name from the start of the line; remove the blank")
    } else if name.contains(['\t', '\r']) {
        Some("names end at a blank; replace tabs with blanks, and remove carriage returns")
    } else if name.contains('[') {
        Some("write a blank and an action before the arguments")
    } else {
        None
    };
    report_unknown_syscall(reader, name, at, is_strict, "LXC skips it", &[], help);
}
