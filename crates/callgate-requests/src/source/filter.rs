//! Filters that were read, and stacks of them.

use callgate::bpf::{FilterFlags, LongProgram};
use callgate::codegen::Weights;
use callgate::compile::{self, CompileError, Compiled, Options};
use callgate::diagnostic::Diagnostic;
use callgate::diagram::{Func, Store};
use callgate::formats::Profile;
use callgate::formats::statements::Statements;
use callgate::lint::Subject;
use callgate::policy::Policy;
use callgate::stack::{self, Merged, StackError};
use callgate::{Arch, Description, Endian, Verdict};

use super::message::{Message, Messages};

/// A filter with its name.
pub(crate) struct Filter {
    pub(crate) name: String,
    pub(crate) content: Content,
    pub(crate) flags: FilterFlags,
    has_listener: bool,
    /// The architectures that results are about.
    pub(crate) arches: Vec<Arch>,
    /// How often syscalls occur according to the source.
    pub(crate) weights: Option<Weights>,
    /// The rules as the text states them, if they were asked for.
    pub(crate) statements: Option<Statements>,
}

pub(crate) enum Content {
    Policy(Box<Policy>),
    Program(LongProgram, Endian),
}

impl Filter {
    /// A policy; results are about these architectures, or about its own if there are none.
    pub(crate) fn of_policy(name: String, policy: Policy, mut arches: Vec<Arch>) -> Filter {
        if arches.is_empty() {
            arches = policy.arches().collect();
        }
        let content = Content::Policy(Box::new(policy));
        Filter::new(name, content, arches)
    }

    /// A profile, without its warnings.
    pub(crate) fn of_profile(name: String, profile: Profile) -> Filter {
        let Profile { policy, flags, listener, statements, .. } = profile;
        let has_listener = listener.is_some();
        Filter { flags, has_listener, statements, ..Filter::of_policy(name, policy, Vec::new()) }
    }

    /// A program for these architectures.
    pub(crate) fn of_program(
        name: String,
        program: LongProgram,
        endian: Endian,
        arches: Vec<Arch>,
    ) -> Filter {
        Filter::new(name, Content::Program(program, endian), arches)
    }

    fn new(name: String, content: Content, arches: Vec<Arch>) -> Filter {
        let flags = FilterFlags::NONE;
        Filter {
            name,
            content,
            flags,
            has_listener: false,
            arches,
            weights: None,
            statements: None,
        }
    }

    /// The same, with the rules as the text states them.
    pub(crate) fn with_statements(self, statements: Option<Statements>) -> Filter {
        Filter { statements, ..self }
    }

    /// What lint checks.
    pub(crate) fn subject(&self) -> Subject<'_> {
        match &self.content {
            Content::Policy(policy) => {
                Subject::new(&**policy).with_statements(self.statements.as_ref())
            }
            Content::Program(program, endian) => Subject::program(program, *endian),
        }
    }

    /// The byte order of its machines.
    pub(crate) fn endian(&self) -> Endian {
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
        .with_listener(self.has_listener)
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
pub(crate) struct Stack {
    pub(crate) name: String,
    /// The oldest first. There is at least one.
    pub(crate) filters: Vec<Filter>,
}

impl Stack {
    /// A stack of one filter.
    pub(crate) fn of(filter: Filter) -> Stack {
        Stack { name: filter.name.clone(), filters: vec![filter] }
    }

    /// The architectures that its filters support.
    pub(crate) fn arches(&self) -> Vec<Arch> {
        let mut arches: Vec<Arch> = Vec::new();
        for arch in self.filters.iter().flat_map(|filter| &filter.arches) {
            if !arches.contains(arch) {
                arches.push(*arch);
            }
        }
        arches
    }

    /// The flags with which its filters are to be installed.
    pub(crate) fn flags(&self) -> FilterFlags {
        self.filters.iter().fold(FilterFlags::NONE, |all, filter| all | filter.flags)
    }

    /// The byte order of its machines.
    pub(crate) fn endian(&self) -> Endian {
        self.filters.first().map_or(Endian::Little, Filter::endian)
    }

    /// The program with its effect: the compiled filter, or what the filters merge to.
    pub(crate) fn compile(&self, options: &Options) -> Result<Compiled, Messages> {
        match self.filters.as_slice() {
            [only] => only.compile(options).map_err(|error| Message::failed(&only.name, &error)),
            _ => Ok(self.merge(options)?.compiled),
        }
    }

    /// Merges the filters into one program.
    pub(crate) fn merge(&self, options: &Options) -> Result<Merged, Messages> {
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

    /// The diagram of the combined verdicts.
    pub(crate) fn diagram(&self, store: &mut Store) -> Result<Func, Messages> {
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
