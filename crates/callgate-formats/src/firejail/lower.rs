//! From settings to filters: which programs firejail installs, in which order, and what each does.
//!
//! firejail collects its programs and installs the last one first (`src/firejail/sandbox.c`, `src/firejail/seccomp.c`). Programs for
//! x86-64 allow the syscalls of other architectures and deny those of x32; programs for i386 are about i386 alone.

use super::lists::{Denied, Item, Lists};
use super::read::Lines;
use super::settings::{DEFAULT_ACTION, Settings};
use super::table::{CLONE_NEWTIME, SECONDARY, numbers};
use crate::included::{Reports, Sources, Span, Stated, statements};
use crate::languages::ReadFilter;
use crate::profile::Profile;
use crate::statements::Builtin;
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Arch, SyscallSet, Verdict, X32_SYSCALL_BIT};

/// What sockets of other families get: ENOTSUP.
const NO_PROTOCOL: Verdict = Verdict::errno(95);

/// What `clone3` gets, whose flags are in memory: ENOSYS, so that C libraries call `clone`.
const NO_CLONE3: Verdict = Verdict::errno(38);

const PROT_WRITE: u64 = 2;
const PROT_EXEC: u64 = 4;
const SHM_EXEC: u64 = 0o100_000;

/// A rule with a condition.
struct Ruled {
    nr: u32,
    when: Condition,
    verdict: Verdict,
    at: Span,
}

/// A program: its name, and its sections.
struct Program {
    what: &'static str,
    sections: Vec<(Arch, Vec<Ruled>, Verdict)>,
    /// What syscalls of other architectures get.
    others: Verdict,
    /// What those of x32 get, unless it is the action of the profile.
    action: Option<Verdict>,
    /// The command that installs it.
    at: Span,
}

impl Program {
    /// A program about one architecture, which allows what its rules do not deny.
    fn of(what: &'static str, arch: Arch, at: Span, rules: Vec<Ruled>) -> Program {
        let sections = vec![(arch, rules, Verdict::ALLOW)];
        Program { what, sections, others: Verdict::ALLOW, action: None, at }
    }

    fn of_items(what: &'static str, arch: Arch, at: Span, items: Vec<Item>) -> Program {
        let ruled = |Item { nr, verdict, at }| Ruled { nr, when: Condition::always(), verdict, at };
        Program::of(what, arch, at, items.into_iter().map(ruled).collect())
    }
}

/// The filters of a profile, the oldest first, and the warnings about it.
pub(super) fn lower(
    lines: Lines<'_>,
    keeps_statements: bool,
    strict: bool,
) -> Result<(Vec<ReadFilter>, Vec<Diagnostic>), Diagnostics> {
    let Lines { sources, mut reports, settings, .. } = lines;
    let mut filters = Vec::new();
    if !reports.failed() {
        let lowering = Lowering { settings: &settings, sources: &sources, strict };
        for program in lowering.programs(&mut reports) {
            let at = program.at;
            match filter(program, &settings, &sources, keeps_statements) {
                Ok(filter) => filters.push(filter),
                Err(error) => {
                    reports.error(at.at, error);
                }
            }
        }
        if let [only] = filters.as_mut_slice() {
            only.suffix.clear();
        }
    }
    reports.end(&sources, Some(filters))
}

struct Lowering<'s> {
    settings: &'s Settings,
    sources: &'s Sources,
    strict: bool,
}

impl Lowering<'_> {
    /// The programs, the oldest first.
    fn programs(&self, reports: &mut Reports) -> Vec<Program> {
        let mut programs = Vec::new();
        if let Some(namespaces) = &self.settings.namespaces {
            self.namespaces(namespaces.at, namespaces.flags(reports), &mut programs);
        }
        if let Some(at) = self.settings.memory_deny_write_execute {
            programs.push(self.writable_code(Arch::X86, "memory-deny-write-execute.32", at));
            programs.push(self.writable_code(Arch::X86_64, "memory-deny-write-execute", at));
        }
        let after = self.lists(reports, &mut programs);
        if let Some(protocol) = &self.settings.protocol {
            programs.push(self.protocol(protocol.at, &protocol.families(reports)));
        }
        programs.extend(after);
        programs
    }

    /// The programs of the commands that begin with `seccomp`. Returns the one that a preloaded library installs, if there is one.
    fn lists(&self, reports: &mut Reports, programs: &mut Vec<Program>) -> Option<Program> {
        let Settings { is_on, list, drop, keep, drop_32, block_secondary, .. } = *self.settings;
        let secondary = block_secondary.map(|at| self.secondary_block(at));
        if let Some(list) = drop_32 {
            if drop.is_none() || keep.is_some() {
                let message = "seccomp.32.drop is read with seccomp.drop only: otherwise, what firejail installs for i386 \
                               depends on other lists";
                reports.error(list.at, message).help = "add seccomp.drop for x86-64".to_owned();
                return None;
            }
            let mut lists = self.of_arch(Arch::X86, reports);
            let Denied { before, after } = lists.denied(Some(list), None);
            if let Some(item) = after.first() {
                let message = "firejail does not deny this for i386: its library installs no program for i386";
                reports.warn(item.at.at, message).help = "remove it".to_owned();
            }
            programs.push(Program::of_items("seccomp.32.drop", Arch::X86, list, before));
            programs.extend(block_secondary.map(|at| self.secondary_block(at)));
        }
        let at = is_on.or(block_secondary)?;
        self.warn_overridden(reports);
        let (main, after) = match (keep, drop) {
            (Some(list), _) => {
                let items = self.of_arch(Arch::X86_64, reports).allowed(list);
                let mut program = Program::of_items("seccomp.keep", Arch::X86_64, list, items);
                for (_, _, default) in &mut program.sections {
                    *default = self.settings.action;
                }
                (program, Vec::new())
            }
            (None, Some(list)) => {
                let denied = self.of_arch(Arch::X86_64, reports).denied(Some(list), None);
                let what = "seccomp.drop";
                (Program::of_items(what, Arch::X86_64, list, denied.before), denied.after)
            }
            (None, None) => {
                if let Some(debuggers) = self.settings.allow_debuggers {
                    let message = "allow-debuggers is not read with the default list: another prebuilt filter for i386 belongs to it";
                    reports.error(debuggers.at, message).help =
                        "remove it, or write seccomp.drop with a list".to_owned();
                }
                let denied = self.of_arch(Arch::X86_64, reports).denied(list, Some(at));
                (Program::of_items("seccomp", Arch::X86_64, at, denied.before), denied.after)
            }
        };
        programs.push(main);
        match secondary {
            Some(block) => programs.push(block),
            // The list for i386 belongs to the default list.
            None if keep.is_none() && drop.is_none() => {
                let item = |nr| Item { nr, verdict: self.settings.action, at };
                let names = SECONDARY.split_ascii_whitespace();
                let items = numbers(names, Arch::X86).into_iter().map(item).collect();
                programs.push(Program::of_items("seccomp.32", Arch::X86, at, items));
            }
            None => {}
        }
        let first = after.first()?;
        let message = "a library that firejail preloads denies this; a program that is linked statically does not load it";
        reports.warn(first.at.at, message).help =
            "to deny it always, install a filter in another way, such as callgate run".to_owned();
        Some(Program::of_items("post-exec", Arch::X86_64, first.at, after))
    }

    fn of_arch<'r>(&'r self, arch: Arch, reports: &'r mut Reports) -> Lists<'r> {
        let (sources, action) = (self.sources, self.settings.action);
        Lists { sources, reports, arch, strict: self.strict, action }
    }

    /// Warns about lists that another one replaces.
    fn warn_overridden(&self, reports: &mut Reports) {
        let Settings { list, drop, keep, .. } = *self.settings;
        let winner = match (keep, drop) {
            (Some(_), _) => "seccomp.keep",
            (None, Some(_)) => "seccomp.drop",
            (None, None) => return,
        };
        for loser in [drop.filter(|_| keep.is_some()), list].into_iter().flatten() {
            let message = format!("this list has no effect, because there is a list of {winner}");
            reports.warn(loser.at, message).help = "remove one of the two".to_owned();
        }
    }

    /// Denies all but x86-64, and other execution domains than that of Linux. With a list of `seccomp.drop` or `seccomp.keep`, this
    /// is firejail's prebuilt program, which has the default action.
    fn secondary_block(&self, at: Span) -> Program {
        let Settings { keep, drop, action, .. } = *self.settings;
        let is_prebuilt = keep.or(drop).is_some();
        let action = if is_prebuilt { DEFAULT_ACTION } else { action };
        let others = [0, 0xffff_ffff].map(|domain| test(0, false, Cmp::Ne, u64::MAX, domain));
        let rules = rules(Arch::X86_64, at, [("personality", Condition::all(others), action)]);
        let program = Program::of("seccomp.block-secondary", Arch::X86_64, at, rules);
        Program { others: action, action: Some(action), ..program }
    }

    /// Denies memory that is writable and executable.
    fn writable_code(&self, arch: Arch, what: &'static str, at: Span) -> Program {
        let action = self.settings.action;
        let has = |mask: u64| test(2, true, Cmp::Eq, mask, mask);
        let mmap = has(PROT_WRITE | PROT_EXEC);
        let rules = match arch {
            Arch::X86 => rules(
                arch,
                at,
                [
                    ("mmap", Condition::always(), action),
                    ("mmap2", mmap, action),
                    ("mprotect", has(PROT_EXEC), action),
                    ("pkey_mprotect", has(PROT_EXEC), action),
                    ("shmat", has(SHM_EXEC), action),
                    ("memfd_create", Condition::always(), action),
                ],
            ),
            _ => rules(
                arch,
                at,
                [
                    ("mmap", mmap, action),
                    ("mprotect", has(PROT_EXEC), action),
                    ("pkey_mprotect", has(PROT_EXEC), action),
                    ("shmat", has(SHM_EXEC), action),
                    ("memfd_create", Condition::always(), action),
                ],
            ),
        };
        Program::of(what, arch, at, rules)
    }

    /// Denies the creation of namespaces with these flags.
    fn namespaces(&self, at: Span, flags: u64, programs: &mut Vec<Program>) {
        let action = self.settings.action;
        for (arch, what) in
            [(Arch::X86, "restrict-namespaces.32"), (Arch::X86_64, "restrict-namespaces")]
        {
            let any = |index: u8, mask: u64| test(index, true, Cmp::Ne, mask, 0);
            let none = test(1, true, Cmp::Eq, u64::from(u32::MAX), 0);
            let rules = rules(
                arch,
                at,
                [
                    ("clone", any(0, flags & !CLONE_NEWTIME), action),
                    ("clone3", Condition::always(), NO_CLONE3),
                    ("unshare", any(0, flags), action),
                    ("setns", Condition::any([none, any(1, flags)]), action),
                ],
            );
            programs.push(Program::of(what, arch, at, rules));
        }
    }

    /// Denies sockets of other families, but not those of `socketcall` on i386.
    fn protocol(&self, at: Span, families: &[u64]) -> Program {
        let is_listed = Condition::any(
            families.iter().map(|family| test(0, true, Cmp::Eq, u64::from(u32::MAX), *family)),
        );
        let section = |arch| {
            let list = [
                ("socket", is_listed.clone(), Verdict::ALLOW),
                ("socket", Condition::always(), NO_PROTOCOL),
            ];
            (arch, rules(arch, at, list), Verdict::ALLOW)
        };
        let sections = vec![section(Arch::X86_64), section(Arch::X86)];
        Program { what: "protocol", sections, others: Verdict::ALLOW, action: None, at }
    }
}

/// Rules for syscalls by their names.
fn rules<const N: usize>(
    arch: Arch,
    at: Span,
    list: [(&str, Condition, Verdict); N],
) -> Vec<Ruled> {
    let rule = |(name, when, verdict)| Some(Ruled { nr: arch.number(name)?, when, verdict, at });
    list.into_iter().filter_map(rule).collect()
}

/// A comparison of an argument, or of its lower half.
fn test(index: u8, is_low: bool, cmp: Cmp, mask: u64, value: u64) -> Condition {
    let field = if is_low { Field::arg_low(index) } else { Field::arg(index) };
    match field {
        // Without a bit to test, nothing is equal to a value but 0.
        Some(_) if mask == 0 => match (cmp, value) {
            (Cmp::Eq, 0) => Condition::always(),
            _ => Condition::never(),
        },
        Some(field) => Condition::test(Test { field, mask, cmp, value }),
        None => Condition::never(),
    }
}

/// The filter of a program.
fn filter(
    program: Program,
    settings: &Settings,
    sources: &Sources,
    keeps_statements: bool,
) -> Result<ReadFilter, String> {
    let Program { what, sections: parts, others, action, at } = program;
    let action = action.unwrap_or(settings.action);
    let mut sections = Vec::new();
    let mut stated = Vec::new();
    let mut builtin = Vec::new();
    for (arch, ruled, default) in parts {
        let mut rules = Vec::new();
        if arch == Arch::X86_64 {
            let syscalls = SyscallSet::range(X32_SYSCALL_BIT, u32::MAX);
            let when = Condition::always();
            rules.push(Rule { syscalls: syscalls.clone(), when, verdict: action });
            let reason = "firejail denies the syscalls of x32";
            builtin.push(Builtin { token: arch.token(), syscalls, verdict: action, reason });
        }
        let mut numbers: Vec<u32> = Vec::new();
        let mut ruled = ruled.into_iter().peekable();
        while let Some(Ruled { nr, when, verdict, at }) = ruled.next() {
            if keeps_statements {
                stated.push(Stated { at, arch, nr, when: when.clone(), verdict });
            }
            numbers.push(nr);
            // Neighbours with one verdict share a rule.
            let goes_on = when.is_always()
                && ruled
                    .peek()
                    .is_some_and(|next| next.verdict == verdict && next.when.is_always());
            if !goes_on {
                let syscalls = numbers.drain(..).collect();
                rules.push(Rule { syscalls, when, verdict });
            }
        }
        sections.push(Section::new(arch, rules, default));
    }
    let policy = Policy::new(sections, others).map_err(|error| error.to_string())?;
    let statements = keeps_statements.then(|| {
        let mut statements = statements(sources, stated, Some(at.at));
        statements.builtin = builtin;
        statements
    });
    let profile = Profile { statements, ..Profile::of(policy) };
    Ok(ReadFilter { suffix: format!(" ({what})"), ..ReadFilter::of(profile) })
}
