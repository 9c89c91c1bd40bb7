//! Filters that were read, and stacks of them.

use crate::compile::{self, CompileError, Compiled, Options};
use crate::lint::Subject;
use crate::stack::{self, Merged, StackError};
use crate::{Arch, Description, Endian, Verdict, convert};
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_codegen::Weights;
use callgate_core::LongProgram;
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::policy::Policy;
use callgate_formats::languages::ReadFilter;
use callgate_formats::statements::Statements;
use callgate_formats::{Listener, Profile};

use super::arches::sort_arches_of_unit;
use super::message::{Message, Messages};

/// A filter with its name.
pub struct Filter {
    /// The name.
    pub name: String,
    /// What it is.
    pub content: Content,
    /// The flags with which it is to be installed.
    pub flags: FilterFlags,
    /// The supervisor that handles notifications.
    pub listener: Option<Listener>,
    /// The architectures that results are about.
    pub arches: Vec<Arch>,
    /// How often syscalls occur according to the source.
    pub weights: Option<Weights>,
    /// Whether it is a filter of a unit of systemd.
    pub(super) is_of_unit: bool,
    /// The rules as the text states them, if the reader kept them.
    pub(super) statements: Option<Statements>,
    /// The warnings of the reader.
    pub(super) warnings: Vec<Diagnostic>,
    /// The policy without the rules that a runtime adds, if it adds some.
    own_policy: Option<Policy>,
}

/// What a filter is.
pub enum Content {
    /// A policy.
    Policy(Box<Policy>),
    /// A program, for machines of this byte order.
    Program(LongProgram, Endian),
}

impl Filter {
    /// A policy; results are about these architectures, or about its own if there are none.
    pub(super) fn of_policy(name: String, policy: Policy, mut arches: Vec<Arch>) -> Filter {
        if arches.is_empty() {
            arches = policy.arches().collect();
        }
        Filter::new(name, Content::Policy(Box::new(policy)), arches)
    }

    /// A filter of a source with this name.
    pub(super) fn of_read(source: &str, read: ReadFilter) -> Filter {
        let ReadFilter { suffix, profile, arches, weights, directive } = read;
        let own_policy = profile.own_policy();
        let Profile { policy, flags, listener, statements, .. } = profile;
        let filter = Filter::of_policy(format!("{source}{suffix}"), policy, arches);
        let is_of_unit = directive.is_some();
        Filter { flags, listener, statements, own_policy, weights, is_of_unit, ..filter }
    }

    /// A program for these architectures.
    pub(super) fn of_program(
        name: String,
        program: LongProgram,
        endian: Endian,
        arches: Vec<Arch>,
    ) -> Filter {
        Filter::new(name, Content::Program(program, endian), arches)
    }

    fn new(name: String, content: Content, arches: Vec<Arch>) -> Filter {
        let (flags, listener, weights) = (FilterFlags::NONE, None, None);
        let (is_of_unit, statements, warnings, own_policy) = (false, None, Vec::new(), None);
        Filter {
            name,
            content,
            flags,
            listener,
            arches,
            weights,
            is_of_unit,
            statements,
            warnings,
            own_policy,
        }
    }

    /// The rules as the text states them, if the source was read with `statements`.
    pub fn statements(&self) -> Option<&Statements> {
        self.statements.as_ref()
    }

    /// The filter for lint; findings have positions if it was read with `statements`.
    pub fn subject(&self) -> Subject<'_> {
        match &self.content {
            Content::Policy(policy) => Subject::new(policy.as_ref())
                .with_statements(self.statements.as_ref())
                .with_warnings(&self.warnings),
            Content::Program(program, endian) => Subject::program(program, *endian),
        }
    }

    /// The byte order of its machines.
    pub fn endian(&self) -> Endian {
        match &self.content {
            Content::Policy(policy) => policy.endian(),
            Content::Program(_, endian) => *endian,
        }
    }

    fn description(&self) -> Description<'_> {
        match &self.content {
            Content::Policy(policy) => Description::policy(policy),
            Content::Program(program, endian) => Description::program(program, *endian),
        }
        .with_flags(self.flags)
        .with_listener(self.listener.is_some())
    }

    fn compile(&self, options: &Options) -> Result<Compiled, CompileError> {
        match &self.content {
            Content::Policy(policy) => compile::compile(policy, options),
            Content::Program(program, endian) => {
                compile::recompile(program, *endian, &self.arches, options)
            }
        }
    }

    fn diagram(&self, store: &mut Store) -> Result<Func, CompileError> {
        match &self.content {
            Content::Policy(policy) => compile::diagram(store, policy),
            Content::Program(program, endian) => {
                store.program(program, *endian).map_err(CompileError::from)
            }
        }
    }
}

/// Filters on top of each other: a source may be several.
pub struct Stack {
    /// The name.
    pub name: String,
    /// The oldest first. There is at least one.
    pub filters: Vec<Filter>,
}

impl Stack {
    /// A stack of one filter.
    pub fn of(filter: Filter) -> Stack {
        Stack { name: filter.name.clone(), filters: vec![filter] }
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

    /// The byte order of its machines.
    pub fn endian(&self) -> Endian {
        self.filters.first().map_or(Endian::Little, Filter::endian)
    }

    /// Refuses to compare with a stack for machines of the other byte order.
    ///
    /// # Errors
    /// If the byte orders differ, about this stack.
    pub fn check_byte_order(&self, other: &Stack) -> Result<(), Messages> {
        if self.endian() == other.endian() {
            return Ok(());
        }
        let message = format!(
            "{} and {} are for machines with different byte orders, so no syscall reaches both",
            other.name, self.name
        );
        let help = "give one machine for both, or the byte order of a program";
        Err(Message::all(&self.name, vec![Diagnostic::error(None, message).help(help)]))
    }

    /// Refuses policies whose variables have no values.
    ///
    /// # Errors
    /// About the first one.
    pub fn check_values(&self) -> Result<(), Messages> {
        let has_variables = |filter: &&Filter| matches!(&filter.content, Content::Policy(policy) if !policy.variables().is_empty());
        match self.filters.iter().find(has_variables) {
            None => Ok(()),
            Some(filter) => {
                let error = CompileError::from(DiagramError::VARIABLES);
                Err(Message::failed(&filter.name, &error))
            }
        }
    }

    /// The program with its effect: the compiled filter, or what the filters merge to.
    pub fn compile(&self, options: &Options) -> Result<Compiled, Messages> {
        match self.filters.as_slice() {
            [only] => only.compile(options).map_err(|error| Message::failed(&only.name, &error)),
            _ => Ok(self.merge(options)?.compiled),
        }
    }

    /// Merges the filters into one program.
    pub fn merge(&self, options: &Options) -> Result<Merged, Messages> {
        let failed = |error: StackError| {
            let filter = error.filter().and_then(|at| self.filters.get(at));
            let name = filter.map_or(&self.name, |filter| &filter.name);
            let help = error.help_or_values("give the values with `set`").unwrap_or_default();
            Message::all(name, vec![Diagnostic::error(None, error.to_string()).help(help)])
        };
        let filters = self.filters.iter().map(Filter::description).collect();
        let stack = stack::Stack::new(filters).map_err(failed)?;
        stack::merge(&stack, &self.arches(), options).map_err(failed)
    }

    /// What is converted: the combined verdicts, and those without the rules that a runtime adds to a profile.
    ///
    /// # Errors
    /// If a filter is too complex.
    pub fn to_convert(&self, store: &mut Store) -> Result<convert::Source, Messages> {
        let applied = self.diagram(store)?;
        let own = match self.filters.as_slice() {
            [Filter { own_policy: Some(policy), name, .. }] => {
                compile::diagram(store, policy).map_err(|error| Message::failed(name, &error))?
            }
            _ => applied,
        };
        Ok(convert::Source { applied, own })
    }

    /// The diagram of the combined verdicts.
    pub fn diagram(&self, store: &mut Store) -> Result<Func, Messages> {
        if let [only] = self.filters.as_slice() {
            return only.diagram(store).map_err(|error| Message::failed(&only.name, &error));
        }
        let failed = |error| Message::failed(&self.name, &CompileError::from(error));
        let mut kept = store.verdict(Verdict::ALLOW).map_err(failed)?;
        for filter in self.filters.iter().rev() {
            let next =
                filter.diagram(store).map_err(|error| Message::failed(&filter.name, &error))?;
            kept = store.highest_precedence(kept, next).map_err(failed)?;
        }
        Ok(kept)
    }
}
