//! Filters that were read.

use crate::compile::{self, CompileError, Compiled, Options, Phase};
use crate::lint::Subject;
use crate::{Arch, Description, Endian, Proved};
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_codegen::Weights;
use callgate_core::LongProgram;
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::policy::Policy;
use callgate_formats::languages::ReadFilter;
use callgate_formats::statements::Statements;
use callgate_formats::{CapSet, Listener, Profile};

use super::arches::arches_in;
use super::message::{Message, Messages};
use super::wording::Wording;

/// A filter with its name.
pub struct SourceFilter {
    /// The name.
    pub name: String,
    /// What it is.
    pub content: Content,
    /// The known flags for its installation.
    pub flags: FilterFlags,
    /// The supervisor that handles notifications.
    pub listener: Option<Listener>,
    /// The architectures that results are about.
    pub arches: Vec<Arch>,
    /// How often syscalls occur according to the source.
    pub weights: Option<Weights>,
    /// Whether unknown syscall names in other inputs, such as weights, are errors.
    pub strict: bool,
    /// The directive of a systemd unit that installs it.
    pub directive: Option<&'static str>,
    /// The kinds of the sources of which it is made.
    pub kinds: Kinds,
    /// Whether it is a filter of a systemd unit.
    pub(super) is_of_unit: bool,
    /// The rules as the text states them, if the reader kept them.
    pub(super) statements: Option<Statements>,
    /// The warnings of the reader.
    pub warnings: Vec<Diagnostic>,
    /// The same of a reader of several files, with the name of the file.
    pub warnings_of_files: Vec<(String, Diagnostic)>,
    /// The names of the conditional profiles of which it is made, for a combination.
    pub(super) conditional_parts: Vec<String>,
    /// The policy without the rules that a runtime adds, if it adds some.
    pub(super) own_policy: Option<Policy>,
    /// The program, if it was made of other filters and proved of them.
    pub(super) proved: Option<Proved>,
    /// The words of its caller, for advice.
    pub wording: &'static Wording,
}

/// What a filter is.
#[derive(Clone)]
pub enum Content {
    /// A policy.
    Policy(Box<Policy>),
    /// A program, for machines of this byte order.
    Program(LongProgram, Endian),
}

/// Which kinds of sources there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// A policy in any language.
    pub profile: bool,
    /// A profile of a container, to which runtimes add rules.
    pub container: bool,
    /// A program.
    pub program: bool,
    /// A systemd unit.
    pub unit: bool,
    /// A policy with variables that have values.
    pub variables: bool,
    /// A policy whose meaning depends on the compiler.
    pub semantics: bool,
    /// A text in C, in which macros may be given.
    pub macros: bool,
}

impl Kinds {
    /// The kinds that are among these filters.
    pub fn of<'a>(filters: impl IntoIterator<Item = &'a SourceFilter>) -> Kinds {
        filters.into_iter().fold(Kinds::default(), |all, filter| {
            let Kinds { profile, container, program, unit, variables, semantics, macros } =
                filter.kinds;
            Kinds {
                profile: all.profile || profile,
                container: all.container || container,
                program: all.program || program,
                unit: all.unit || unit,
                variables: all.variables || variables,
                semantics: all.semantics || semantics,
                macros: all.macros || macros,
            }
        })
    }
}

impl SourceFilter {
    /// A policy; results are about these architectures, or about its own if there are none.
    pub fn of_policy(name: String, policy: Policy, mut arches: Vec<Arch>) -> SourceFilter {
        if arches.is_empty() {
            arches = policy.arches().collect();
        }
        SourceFilter::new(name, Content::Policy(Box::new(policy)), arches)
    }

    /// A filter of a source with this name.
    pub fn of_read(source: &str, read: ReadFilter) -> SourceFilter {
        let ReadFilter { suffix, profile, arches, weights, directive } = read;
        let own_policy = profile.own_policy();
        let Profile { policy, dialect, flags, listener, statements, .. } = profile;
        let filter = SourceFilter::of_policy(format!("{source}{suffix}"), policy, arches);
        let (container, unit) = (dialect.is_some(), directive.is_some());
        let kinds = Kinds { container, unit, ..filter.kinds };
        SourceFilter {
            flags,
            listener,
            statements,
            own_policy,
            weights,
            directive,
            kinds,
            is_of_unit: unit,
            ..filter
        }
    }

    /// A program for these architectures.
    pub fn of_program(
        name: String,
        program: LongProgram,
        endian: Endian,
        arches: Vec<Arch>,
    ) -> SourceFilter {
        SourceFilter::new(name, Content::Program(program, endian), arches)
    }

    /// The same filter of a source that was read for a caller with these words, or with `strict`.
    #[must_use]
    pub fn of_caller(self, wording: &'static Wording, strict: bool) -> SourceFilter {
        SourceFilter { wording, strict, ..self }
    }

    /// The program of a source in these words that was made of other filters, and proved.
    pub(super) fn made(
        name: String,
        program: Proved,
        endian: Endian,
        arches: Vec<Arch>,
        kinds: Kinds,
        wording: &'static Wording,
    ) -> SourceFilter {
        let filter = SourceFilter::of_program(name, program.clone().into(), endian, arches);
        SourceFilter { kinds, wording, proved: Some(program), ..filter }
    }

    /// The program with its proof, if it was made of other filters: `a + b`, or of a stack.
    pub fn proved(&self) -> Option<&Proved> {
        self.proved.as_ref()
    }

    fn new(name: String, content: Content, arches: Vec<Arch>) -> SourceFilter {
        let is_program = matches!(content, Content::Program(..));
        let kinds = Kinds {
            profile: !is_program,
            program: is_program,
            macros: is_program,
            ..Kinds::default()
        };
        SourceFilter {
            name,
            content,
            flags: FilterFlags::NONE,
            listener: None,
            arches,
            weights: None,
            strict: false,
            directive: None,
            kinds,
            is_of_unit: false,
            statements: None,
            warnings: Vec::new(),
            warnings_of_files: Vec::new(),
            conditional_parts: Vec::new(),
            own_policy: None,
            proved: None,
            wording: Wording::REQUEST,
        }
    }

    /// The rules as the text states them, if the source was read with `statements`.
    pub fn statements(&self) -> Option<&Statements> {
        self.statements.as_ref()
    }

    /// Whether a profile that was read with `statements` allows other syscalls with other capabilities or on another kernel.
    pub fn is_conditional(&self) -> bool {
        self.statements().is_some_and(|statements| {
            !statements.gated.is_empty()
                || statements.inactive.iter().any(|rule| rule.missing != CapSet::none())
        })
    }

    /// The names of the profiles that are conditional: its own, or those of the parts of a combination.
    pub fn conditional_names(&self) -> impl Iterator<Item = &str> {
        let own = self.is_conditional().then_some(self.name.as_str());
        own.into_iter().chain(self.conditional_parts.iter().map(String::as_str))
    }

    /// Whether it is a policy, not a program.
    pub fn is_profile(&self) -> bool {
        self.policy().is_some()
    }

    /// The policy, unless it is a program.
    pub fn policy(&self) -> Option<&Policy> {
        match &self.content {
            Content::Policy(policy) => Some(policy),
            Content::Program(..) => None,
        }
    }

    /// The program, unless it is a policy.
    pub fn given_program(&self) -> Option<&LongProgram> {
        match &self.content {
            Content::Policy(_) => None,
            Content::Program(program, _) => Some(program),
        }
    }

    /// Whether values are compared that are not known yet.
    pub fn has_variables(&self) -> bool {
        self.policy().is_some_and(|policy| !policy.variables().is_empty())
    }

    /// Refuses a policy whose variables have no values.
    ///
    /// # Errors
    /// About the filter.
    pub fn check_values(&self) -> Result<(), Messages> {
        match self.has_variables() {
            true => Err(self.failed(&CompileError::from(DiagramError::VARIABLES))),
            false => Ok(()),
        }
    }

    /// The filter for lint; findings have positions if it was read with `statements`.
    pub fn subject(&self) -> Subject<'_> {
        match &self.content {
            Content::Policy(policy) => Subject::new(policy.as_ref())
                .with_statements(self.statements.as_ref())
                .with_warnings_of_files(&self.warnings_of_files),
            Content::Program(program, endian) => Subject::program(program, *endian),
        }
        .with_warnings(&self.warnings)
        .of_container(self.kinds.container)
    }

    /// The byte order of its machines.
    pub fn endian(&self) -> Endian {
        match &self.content {
            Content::Policy(policy) => policy.endian(),
            Content::Program(_, endian) => *endian,
        }
    }

    /// The filter as a member of a stack or an expression.
    pub fn description(&self) -> Description<'_> {
        match &self.content {
            Content::Policy(policy) => Description::policy(policy),
            Content::Program(program, endian) => Description::program(program, *endian),
        }
        .with_flags(self.flags)
        .with_listener(self.listener.is_some())
    }

    /// Compiles a policy or a program; the result is proved.
    ///
    /// # Errors
    /// If it cannot be compiled.
    pub fn compile_observed(
        &self,
        options: &Options,
        observe: &mut dyn FnMut(Phase),
    ) -> Result<Compiled, CompileError> {
        match &self.content {
            Content::Policy(policy) => compile::compile_observed(policy, options, observe),
            Content::Program(program, endian) => {
                compile::recompile_observed(program, *endian, &self.arches, options, observe)
            }
        }
    }

    /// Its MTBDD.
    ///
    /// # Errors
    /// If it is too complex, or has variables.
    pub fn diagram(&self, store: &mut Store) -> Result<Func, Messages> {
        match &self.content {
            Content::Policy(policy) => compile::diagram(store, policy),
            Content::Program(program, endian) => {
                store.program(program, *endian).map_err(CompileError::from)
            }
        }
        .map_err(|error| self.failed(&error))
    }

    /// Its MTBDD without the rules that a runtime adds to a profile.
    pub(super) fn own_diagram(&self, store: &mut Store) -> Result<Func, Messages> {
        match &self.own_policy {
            Some(policy) => compile::diagram(store, policy).map_err(|error| self.failed(&error)),
            None => self.diagram(store),
        }
    }

    /// The message for a failed compilation of this filter.
    pub fn failed(&self, error: &CompileError) -> Messages {
        Message::failed(&self.name, error, self.wording.give_values)
    }

    /// The architectures that a program compares with, if results are about none of them.
    pub fn other_arches(&self) -> Option<Vec<Arch>> {
        let Content::Program(program, endian) = &self.content else { return None };
        let compared = arches_in(program, *endian);
        let meets = |arch: &Arch| self.arches.iter().any(|given| given.token() == arch.token());
        (!compared.is_empty() && !compared.iter().any(meets)).then_some(compared)
    }
}
