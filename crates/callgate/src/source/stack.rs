//! Stacks of filters: a source may be several.

use crate::compile::{CompileError, Compiled, Options, Phase};
use crate::stack::{self, Merged, StackError};
use crate::{Action, Arch, Endian, Verdict, convert};
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::Help;
use callgate_core::diagram::{Budget, DiagramError, Func, Store};
use callgate_formats::Listener;

use super::arches::sort_arches_of_unit;
use super::filter::{Kinds, SourceFilter};
use super::message::{Message, Messages};
use super::wording::Wording;

/// The budget for arbitrary programs, and for merging: at most half a second (0.26 s was the maximum for 150 random programs
/// with arithmetic) and 100 MB. Filters in use need some ten thousand nodes. Compilation of a policy has the larger default,
/// because policies of ten thousand rules that fit into a program may need it.
pub const PROMPT: Budget = Budget { nodes: 800_000, steps: 4_000_000 };

/// Why filters have no combined MTBDD.
enum NoDiagram {
    OfFilter(Messages),
    OfStack(DiagramError),
}

impl From<DiagramError> for NoDiagram {
    fn from(error: DiagramError) -> NoDiagram {
        NoDiagram::OfStack(error)
    }
}

/// Filters on top of each other.
pub struct SourceStack {
    /// The name.
    pub name: String,
    /// The oldest first. There is at least one.
    pub filters: Vec<SourceFilter>,
}

impl SourceStack {
    /// A stack of one filter.
    pub fn of(filter: SourceFilter) -> SourceStack {
        SourceStack { name: filter.name.clone(), filters: vec![filter] }
    }

    /// These filters, the oldest first, under a common name.
    pub fn of_filters(filters: Vec<SourceFilter>) -> SourceStack {
        SourceStack { name: "the stack".to_owned(), filters }
    }

    /// The architectures that its filters support.
    pub fn arches(&self) -> Vec<Arch> {
        let mut arches: Vec<Arch> = Vec::new();
        for arch in self.filters.iter().flat_map(|filter| &filter.arches) {
            if !arches.contains(arch) {
                arches.push(*arch);
            }
        }
        if self.filters.iter().all(|filter| filter.is_of_unit) {
            sort_arches_of_unit(&mut arches);
        }
        arches
    }

    /// The flags with which its filters are to be installed.
    pub fn flags(&self) -> FilterFlags {
        self.filters.iter().fold(FilterFlags::NONE, |all, filter| all | filter.flags)
    }

    /// The supervisor that handles its notifications; the kernel permits one for all filters.
    pub fn listener(&self) -> Option<&Listener> {
        self.filters.iter().find_map(|filter| filter.listener.as_ref())
    }

    /// The byte order of its machines.
    pub fn endian(&self) -> Endian {
        self.filters.first().map_or(Endian::Little, SourceFilter::endian)
    }

    fn wording(&self) -> &'static Wording {
        self.filters.first().map_or(Wording::REQUEST, |filter| filter.wording)
    }

    /// Refuses to compare with a stack for machines of the other byte order.
    ///
    /// # Errors
    /// If the byte orders differ, about this stack.
    pub fn check_byte_order(&self, other: &SourceStack) -> Result<(), Messages> {
        if self.endian() == other.endian() {
            return Ok(());
        }
        let message = format!(
            "{} and {} are for machines with different byte orders, so no syscall reaches both",
            other.name, self.name
        );
        Err(Message::error(&self.name, message, self.wording().one_byte_order))
    }

    /// The message for a failed compilation of the whole.
    pub fn failed(&self, error: &CompileError) -> Messages {
        Message::failed(&self.name, error, self.wording().give_values)
    }

    /// Refuses policies whose variables have no values.
    ///
    /// # Errors
    /// About the first one.
    pub fn check_values(&self) -> Result<(), Messages> {
        self.filters.iter().try_for_each(SourceFilter::check_values)
    }

    /// The program with its effect: the compiled filter, or what the filters merge to.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn compile(&self, options: &Options) -> Result<Compiled, Messages> {
        match self.filters.as_slice() {
            [only] => {
                only.compile_observed(options, &mut |_| ()).map_err(|error| only.failed(&error))
            }
            _ => Ok(self.merge(options)?.compiled),
        }
    }

    /// Merges the filters into one program.
    ///
    /// # Errors
    /// If they cannot be merged, or the program has too many instructions.
    pub fn merge(&self, options: &Options) -> Result<Merged, Messages> {
        self.merge_observed(options, &mut |_| ())
    }

    /// Like [`SourceStack::merge`]; calls `observe` after each phase.
    ///
    /// # Errors
    /// As [`SourceStack::merge`].
    pub fn merge_observed(
        &self,
        options: &Options,
        observe: &mut dyn FnMut(Phase),
    ) -> Result<Merged, Messages> {
        let failed = |error: StackError| {
            let filter = error.filter().and_then(|at| self.filters.get(at));
            let name = filter.map_or(&self.name, |filter| &filter.name);
            let words = || error.help_or_values(self.wording().give_values_to_merge);
            let help = error.advice().map(Help::from).or_else(|| words().map(Help::from));
            Message::lines(name, error.to_string(), help)
        };
        let stack = self.members().map_err(failed)?;
        stack::merge_observed(&stack, &self.arches(), options, observe).map_err(failed)
    }

    /// The filters as the compiler takes them.
    ///
    /// # Errors
    /// If they cannot be merged.
    pub fn members(&self) -> Result<stack::Stack<'_>, StackError> {
        stack::Stack::new(self.filters.iter().map(SourceFilter::description).collect())
    }

    /// The single filter, or the program to which the filters merge.
    ///
    /// # Errors
    /// As [`SourceStack::merge`].
    pub fn into_filter(mut self) -> Result<SourceFilter, Messages> {
        match self.filters.pop() {
            Some(only) if self.filters.is_empty() => return Ok(only),
            newest => self.filters.extend(newest),
        }
        let options = Options { budget: PROMPT, ..Options::default() };
        let (arches, wording) = (self.arches(), self.wording());
        let program = self.merge(&options)?.compiled.program;
        let flags = self.members().map_or(FilterFlags::NONE, |stack| stack.flags());
        let is_of_unit = self.filters.iter().any(|filter| filter.is_of_unit);
        let (kinds, endian) = (Kinds::of(&self.filters), self.endian());
        let filter = SourceFilter::made(self.name, program, endian, arches, kinds, wording);
        Ok(SourceFilter { flags, is_of_unit, ..filter })
    }

    /// What is converted: the combined verdicts, and those without the rules that a runtime adds to a profile. Warns as
    /// [`SourceStack::combined_diagram`].
    ///
    /// # Errors
    /// If a filter is too complex.
    pub fn to_convert(
        &self,
        store: &mut Store,
        warnings: &mut Messages,
    ) -> Result<convert::Original, Messages> {
        match self.filters.as_slice() {
            [only] => Ok(convert::Original {
                applied: only.diagram(store)?,
                own: only.own_diagram(store)?,
            }),
            _ => self.combined_diagram(store, warnings).map(convert::Original::from),
        }
    }

    /// The MTBDD of the combined verdicts. Warns about flags and listeners, which have effects besides the verdict.
    ///
    /// # Errors
    /// If a filter is too complex.
    pub fn combined_diagram(
        &self,
        store: &mut Store,
        warnings: &mut Messages,
    ) -> Result<Func, Messages> {
        if let [only] = self.filters.as_slice() {
            return only.diagram(store);
        }
        warnings.extend(self.not_mergeable());
        let kept = store.stacked(&self.filters, |store, filter| {
            let next = filter.diagram(store).map_err(NoDiagram::OfFilter)?;
            let asks = |verdict: &Verdict| matches!(verdict.action(), Action::UserNotif(_));
            if let Some(verdict) = store.verdicts(next).into_iter().find(asks) {
                let message = format!(
                    "this filter passes syscalls to a listener ({verdict}), which decides about them"
                );
                let help = "the filters therefore cannot be merged into one program";
                warnings.push(Message::warning(&filter.name, message, help));
            }
            Ok(next)
        });
        kept.map_err(|error| match error {
            NoDiagram::OfFilter(messages) => messages,
            NoDiagram::OfStack(error) => self.failed(&CompileError::from(error)),
        })
    }

    /// A warning if no program has the effect of all filters.
    fn not_mergeable(&self) -> Option<Message> {
        let error = self.members().err()?;
        let filter = error.filter().and_then(|at| self.filters.get(at));
        let name = filter.map_or(&self.name, |filter| &filter.name);
        let help = "the result shows the combined verdicts nevertheless";
        Some(Message::warning(name, error.to_string(), help))
    }
}
