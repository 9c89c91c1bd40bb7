//! A stack: the filters of a source. A profile or program is a stack of one filter, a process may have several.

use callgate::compile::{CompileError, Options};
use callgate::convert;
use callgate::stack::{self, Merged, StackError};
use callgate::{Action, Arch, Endian, Verdict};
use callgate_bpf::FilterFlags;
use callgate_core::diagram::{Func, Store};
use callgate_formats::Listener;

use callgate_requests::source::sort_arches_of_unit;

use super::filter::{Filter, FilterContent, GIVE_VALUES, failed};
use crate::advice;
use crate::options::{NATIVE_ENDIAN, PROMPT};
use crate::report::{self, Failure, Result};
use crate::stopwatch::Stopwatch;

/// Filters on top of each other.
pub(crate) struct Stack {
    /// The name of the source in messages.
    pub(crate) name: String,
    /// The oldest first. There is at least one.
    pub(crate) filters: Vec<Filter>,
}

impl Stack {
    /// A stack of one filter.
    pub(super) fn of(filter: Filter) -> Stack {
        Stack { name: filter.name.clone(), filters: vec![filter] }
    }

    /// The architectures that its filters support.
    pub(crate) fn arches(&self) -> Vec<Arch> {
        arches(&self.filters)
    }

    /// The flags with which its filters are installed.
    pub(crate) fn flags(&self) -> FilterFlags {
        self.filters.iter().fold(FilterFlags::NONE, |all, filter| all | filter.flags())
    }

    /// The supervisor that handles its notifications; the kernel permits one for all filters.
    pub(crate) fn listener(&self) -> Option<&Listener> {
        self.filters.iter().find_map(Filter::listener)
    }

    /// The byte order of its machines.
    pub(crate) fn endian(&self) -> Endian {
        self.filters.first().map_or(NATIVE_ENDIAN, Filter::endian)
    }

    /// What is converted: the combined verdicts, and those without the rules that a runtime adds to a profile. Warns as
    /// [`Stack::diagram`].
    pub(crate) fn to_convert(&self, store: &mut Store) -> Result<convert::Source> {
        match self.filters.as_slice() {
            [only] => {
                Ok(convert::Source { applied: only.diagram(store)?, own: only.own_diagram(store)? })
            }
            _ => self.diagram(store).map(convert::Source::from),
        }
    }

    /// The MTBDD of the combined verdicts. Warns about flags and listeners, which have effects besides
    /// the verdict.
    pub(crate) fn diagram(&self, store: &mut Store) -> Result<Func> {
        if let [only] = self.filters.as_slice() {
            return only.diagram(store);
        }
        self.warn_about_unmergeable();
        let failed = |error| failed(&self.name, &CompileError::from(error));
        let mut kept = store.verdict(Verdict::ALLOW).map_err(failed)?;
        for filter in self.filters.iter().rev() {
            let next = filter.diagram(store)?;
            let asks = |verdict: &Verdict| matches!(verdict.action(), Action::UserNotif(_));
            if let Some(verdict) = store.verdicts(next).into_iter().find(asks) {
                report::warn_about(
                    &filter.name,
                    format!(
                        "this filter passes syscalls to a listener ({verdict}), which decides about them"
                    ),
                    "the filters therefore cannot be merged into one program",
                );
            }
            kept = store.highest_precedence(kept, next).map_err(failed)?;
        }
        Ok(kept)
    }

    fn warn_about_unmergeable(&self) {
        let parts = self.filters.iter().map(Filter::of_stack).collect();
        if let Err(error) = stack::Stack::new(parts) {
            let at = error.filter().and_then(|at| self.filters.get(at));
            let name = at.map_or(&self.name, |filter| &filter.name);
            report::warn_about(
                name,
                error.to_string(),
                "the result shows the combined verdicts nevertheless",
            );
        }
    }

    /// The single filter, or the program to which the filters merge. Warns about flags, which are not part of
    /// a program.
    pub(crate) fn into_filter(mut self) -> Result<Filter> {
        let filter = match self.filters.pop() {
            Some(only) if self.filters.is_empty() => only,
            newest => {
                self.filters.extend(newest);
                self.into_merged()?
            }
        };
        if filter.installed.contains(FilterFlags::LOG) {
            report::warn_about(
                &filter.name,
                "this filter is installed with SECCOMP_FILTER_FLAG_LOG, which is not part of a program",
                "install the resulting program with this flag",
            );
        }
        Ok(filter)
    }

    fn into_merged(self) -> Result<Filter> {
        let arches = self.arches();
        let options = Options { budget: PROMPT, ..Options::default() };
        let (merged, stack) = merge(&self.filters, &arches, &options, &mut Stopwatch::start())?;
        let (endian, installed) = (stack.endian(), stack.flags());
        let content =
            FilterContent::Program { program: merged.compiled.program.into(), endian, arches };
        let is_of_unit = self.filters.iter().any(|filter| filter.is_of_unit);
        let made_of = Some(Filter::kinds(&self.filters));
        Ok(Filter { installed, is_of_unit, made_of, ..Filter::new(self.name, content) })
    }
}

/// The architectures that any of these filters supports.
pub(crate) fn arches(filters: &[Filter]) -> Vec<Arch> {
    let mut arches: Vec<Arch> = Vec::new();
    for arch in filters.iter().flat_map(Filter::arches) {
        if !arches.contains(&arch) {
            arches.push(arch);
        }
    }
    if filters.iter().all(|filter| filter.is_of_unit) {
        sort_arches_of_unit(&mut arches);
    }
    arches
}

/// Merges filters, the oldest first.
pub(crate) fn merge<'a>(
    filters: &'a [Filter],
    arches: &[Arch],
    options: &Options,
    stopwatch: &mut Stopwatch,
) -> Result<(Merged, stack::Stack<'a>)> {
    let failed = |error: StackError| {
        let at = error.filter().and_then(|at| filters.get(at));
        let name = at.map_or("the stack", |filter| filter.name.as_str());
        let help = error.help_or_values(GIVE_VALUES).unwrap_or_default();
        Failure::about(name, error.to_string())
            .help(advice::help_or(error.advice(), help))
            .multiline()
    };
    let stack =
        stack::Stack::new(filters.iter().map(Filter::of_stack).collect()).map_err(failed)?;
    let observe = &mut |phase| stopwatch.note(phase);
    let merged = stack::merge_observed(&stack, arches, options, observe).map_err(failed)?;
    Ok((merged, stack))
}
