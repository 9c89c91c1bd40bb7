//! A stack of filters as it is checked: each with its text if it has one, and what they do together.

use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_codegen::query;
use callgate_core::diagram::{DiagramError, Func, Pred, Store};
use callgate_core::{Action, Arch, Endian, LongProgram, SeccompData, Verdict, Word};
use callgate_formats::Profile;
use callgate_formats::statements::{Site, Statement, Statements};
use rustc_hash::FxHashMap as HashMap;

use super::finding::Example;
use crate::Description;
use crate::convert::UNNAMED;
use crate::error::{Error, Result};

/// Whether a verdict prevents a syscall. That of a tracer or a listener does not decide yet.
pub(super) fn denies(verdict: Verdict) -> bool {
    !verdict.permits() && !matches!(verdict.action(), Action::Trace(_) | Action::UserNotif(_))
}

/// Filters with their decision diagrams.
pub(super) struct View<'a> {
    pub(super) subjects: &'a [Subject<'a>],
    /// The architectures that the filters are for.
    pub(super) arches: &'a [Arch],
    pub(super) store: Store,
    /// The function of each filter.
    pub(super) own: Vec<Func>,
    /// The combined function.
    pub(super) whole: Func,
    /// The arguments for which functions permit or deny.
    known: HashMap<(Func, Does), Pred>,
}

/// What a filter does with a syscall.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Does {
    Permit,
    Deny,
}

impl<'a> View<'a> {
    pub(super) fn new(subjects: &'a [Subject<'a>], arches: &'a [Arch]) -> Result<View<'a>> {
        let mut store = Store::default();
        let mut own = Vec::new();
        let whole = store.stacked(subjects, |store, subject| {
            let func = subject.filter.diagram(store)?;
            own.push(func);
            Ok::<_, Error>(func)
        })?;
        own.reverse();
        Ok(View { subjects, arches, store, own, whole, known: HashMap::default() })
    }

    /// The combined function of the arguments of a syscall.
    pub(super) fn call(&self, arch: Arch, nr: u32) -> Func {
        self.call_in(self.whole, arch, nr)
    }

    /// The same of one filter's function.
    pub(super) fn call_in(&self, filter: Func, arch: Arch, nr: u32) -> Func {
        let numbers = self.store.follow(filter, Word::ARCH, arch.token());
        self.store.follow(numbers, Word::NR, nr)
    }

    /// The number of a syscall and its function of the arguments; `None` if the architecture does not have it.
    pub(super) fn named(&self, arch: Arch, name: &str) -> Option<(u32, Func)> {
        let nr = arch.number(name)?;
        Some((nr, self.call(arch, nr)))
    }

    /// The arguments for which a function permits the syscall.
    pub(super) fn permits(&mut self, func: Func) -> Result<Pred, DiagramError> {
        self.where_it(func, Does::Permit)
    }

    /// The arguments for which a function denies the syscall.
    pub(super) fn denies(&mut self, func: Func) -> Result<Pred, DiagramError> {
        self.where_it(func, Does::Deny)
    }

    fn where_it(&mut self, func: Func, does: Does) -> Result<Pred, DiagramError> {
        if let Some(known) = self.known.get(&(func, does)) {
            return Ok(*known);
        }
        let found = match does {
            Does::Permit => that(&mut self.store, func, Verdict::permits)?,
            Does::Deny => that(&mut self.store, func, denies)?,
        };
        self.known.insert((func, does), found);
        Ok(found)
    }

    /// The arguments for which a syscall is permitted or denied; none if the architecture does not have it.
    pub(super) fn named_where(
        &mut self,
        arch: Arch,
        name: &str,
        does: Does,
    ) -> Result<Pred, DiagramError> {
        let Some((_, func)) = self.named(arch, name) else { return Ok(Pred::NEVER) };
        self.where_it(func, does)
    }

    /// A syscall with this number whose arguments meet a predicate, with its verdict.
    pub(super) fn example(
        &self,
        arch: Arch,
        nr: u32,
        arguments: Pred,
    ) -> Result<Option<Example>, DiagramError> {
        let start = SeccompData { nr, arch: arch.token(), ..SeccompData::default() };
        query::example(&self.store, arguments, start).map(|data| self.run(arch, data)).transpose()
    }

    /// A syscall of this name that is permitted or denied.
    pub(super) fn named_example(
        &mut self,
        arch: Arch,
        name: &str,
        does: Does,
    ) -> Result<Option<Example>, DiagramError> {
        let Some(nr) = arch.number(name) else { return Ok(None) };
        let arguments = self.named_where(arch, name, does)?;
        self.example(arch, nr, arguments)
    }

    /// A syscall with its verdict.
    pub(super) fn run(&self, arch: Arch, data: SeccompData) -> Result<Example, DiagramError> {
        let verdict = self.store.evaluate(self.whole, &data)?;
        Ok(Example { arch, data, verdict })
    }

    /// The statements of each filter that has a text.
    pub(super) fn texts(&self) -> impl Iterator<Item = (usize, &'a Statements)> + use<'a> {
        let subjects = self.subjects.iter().enumerate();
        subjects.filter_map(|(filter, subject)| Some((filter, subject.statements?)))
    }

    /// The rule about a syscall whose place a finding has: the first one that meets the test.
    pub(super) fn place(
        &self,
        arch: Arch,
        name: &str,
        test: impl Fn(&Statement) -> bool,
    ) -> (usize, Option<Site>) {
        let nr = arch.number(name);
        let found = self.texts().find_map(|(filter, statements)| {
            let about = |rule: &&Statement| {
                rule.arch == arch && (Some(rule.nr) == nr || rule.name == name) && test(rule)
            };
            Some((filter, Some(statements.rules.iter().find(about)?.site.clone())))
        });
        found.unwrap_or((0, None))
    }

    /// Whether numbers that no table knows are permitted: the filter lists what it denies.
    pub(super) fn is_denylist(&mut self, arch: Arch) -> Result<bool, DiagramError> {
        let unknown = self.call(arch, arch.first_number() + UNNAMED);
        Ok(self.permits(unknown)? == Pred::ALWAYS)
    }
}

/// The predicate that the verdict of a function meets a test.
fn that(
    store: &mut Store,
    func: Func,
    test: impl Fn(Verdict) -> bool,
) -> Result<Pred, DiagramError> {
    if let Some(verdict) = store.as_verdict(func) {
        return Ok(Pred::constant(test(verdict)));
    }
    let two = |verdict| if test(verdict) { Verdict::ALLOW } else { Verdict::KILL_PROCESS };
    let two = store.replace_verdicts(func, &two)?;
    query::has_verdict(store, two, Verdict::ALLOW)
}

/// A filter of a stack.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub(super) filter: Description<'a>,
    pub(super) program: Option<(&'a LongProgram, Endian)>,
    pub(super) statements: Option<&'a Statements>,
    pub(super) warnings: &'a [Diagnostic],
    pub(super) warnings_of_files: &'a [(String, Diagnostic)],
    pub(super) is_of_container: bool,
}

impl<'a> Subject<'a> {
    /// A filter without a text.
    pub fn new(filter: impl Into<Description<'a>>) -> Subject<'a> {
        Subject {
            filter: filter.into(),
            program: None,
            statements: None,
            warnings: &[],
            warnings_of_files: &[],
            is_of_container: false,
        }
    }

    /// A program, whose cost is checked as well.
    pub fn program(program: &'a LongProgram, endian: Endian) -> Subject<'a> {
        let filter = Description::program(program, endian);
        Subject { program: Some((program, endian)), ..Subject::new(filter) }
    }

    /// A profile. Findings have positions if it was read with `statements`.
    pub fn profile(profile: &'a Profile) -> Subject<'a> {
        let statements = profile.statements.as_ref();
        let is_of_container = profile.dialect.is_some();
        Subject {
            statements,
            warnings: &profile.warnings,
            is_of_container,
            ..Subject::new(profile)
        }
    }

    /// The same filter, which a container runtime installs before it executes a command, or not.
    #[must_use]
    pub fn of_container(self, is_of_container: bool) -> Subject<'a> {
        Subject { is_of_container, ..self }
    }

    /// The same filter, with what its text states.
    #[must_use]
    pub fn with_statements(self, statements: Option<&'a Statements>) -> Subject<'a> {
        Subject { statements, ..self }
    }

    /// The same filter, with the warnings of its reader.
    #[must_use]
    pub fn with_warnings(self, warnings: &'a [Diagnostic]) -> Subject<'a> {
        Subject { warnings, ..self }
    }

    /// The same filter, with the warnings of a reader of several files, each with the name of its file.
    #[must_use]
    pub fn with_warnings_of_files(self, warnings: &'a [(String, Diagnostic)]) -> Subject<'a> {
        Subject { warnings_of_files: warnings, ..self }
    }
}
