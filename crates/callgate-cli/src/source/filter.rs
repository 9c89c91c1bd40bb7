//! A filter: a profile or a program, and the operations on both.

use std::borrow::Cow;

use callgate::compile::{self, CompileError, Compiled, CompiledTemplate};
use callgate::lint;
use callgate::{Arch, Description, Endian, Proved};
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_codegen::Weights;
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::policy::Policy;
use callgate_core::{LongProgram, Program};
use callgate_formats::languages::ReadFilter;
use callgate_formats::statements::Statements;
use callgate_formats::{CapSet, Listener, Profile};
use callgate_requests::source::arches_in;

use super::violations::violations;
use crate::options::{CompileOptions, Kinds, SourceOptions};
use crate::report::{self, Failure, Result};
use crate::stopwatch::Stopwatch;

/// A profile or a program with its name.
pub(crate) struct Filter {
    /// The name of the source in messages.
    pub(crate) name: String,
    pub(crate) content: FilterContent,
    /// Whether unknown syscall names in other inputs, such as weights, are errors.
    pub(crate) strict: bool,
    /// The flags with which the program is installed, if known.
    pub(crate) installed: FilterFlags,
    /// Whether it is a filter of a unit of systemd.
    pub(crate) is_of_unit: bool,
    /// The directive of a unit that installs it.
    pub(crate) directive: Option<&'static str>,
    /// For a program that was made of other sources: their kinds.
    pub(super) made_of: Option<Kinds>,
    /// The warnings of the reader of a program, if they were not printed.
    pub(super) kept: Vec<Diagnostic>,
    /// How often syscalls occur according to the source; --weights replaces it.
    pub(crate) weights: Option<Weights>,
}

pub(crate) enum FilterContent {
    Profile(Box<Rules>),
    Program { program: LongProgram, endian: Endian, arches: Vec<Arch> },
}

/// A filter as a policy.
pub(crate) struct Rules {
    pub(crate) policy: Policy,
    /// The flags with which it is to be installed.
    pub(crate) flags: FilterFlags,
    /// The supervisor to which a runtime passes the notification descriptor.
    listener: Option<Listener>,
    /// The policy without the rules that the runtime adds, if it adds some.
    own_policy: Option<Policy>,
    /// Whether they are a profile of a container.
    is_container: bool,
    /// The architectures that results are about.
    arches: Vec<Arch>,
    /// The rules as the text states them, if they were asked for and the reader knows them.
    pub(crate) statements: Option<Statements>,
    /// The warnings of the reader, if they were not printed.
    pub(crate) warnings: Vec<Diagnostic>,
    /// The same of a reader of several files, with the name of the file.
    pub(crate) warnings_of_files: Vec<(String, Diagnostic)>,
}

impl Rules {
    /// Rules without flags; results are about these architectures, or those of the policy if there are none.
    pub(super) fn new(policy: Policy, mut arches: Vec<Arch>) -> Rules {
        if arches.is_empty() {
            arches = policy.arches().collect();
        }
        let flags = FilterFlags::NONE;
        Rules {
            policy,
            flags,
            listener: None,
            own_policy: None,
            is_container: false,
            arches,
            statements: None,
            warnings: Vec::new(),
            warnings_of_files: Vec::new(),
        }
    }
}

impl Filter {
    pub(super) fn new(name: String, content: FilterContent) -> Filter {
        let installed = FilterFlags::NONE;
        Filter {
            name,
            content,
            strict: false,
            installed,
            is_of_unit: false,
            directive: None,
            made_of: None,
            kept: Vec::new(),
            weights: None,
        }
    }

    /// The rules as their text states them, if the options keep them.
    pub(crate) fn statements(&self) -> Option<&Statements> {
        match &self.content {
            FilterContent::Profile(rules) => rules.statements.as_ref(),
            FilterContent::Program { .. } => None,
        }
    }

    /// Whether a profile, whose rules were kept, allows other syscalls with other capabilities or on another kernel.
    pub(crate) fn is_conditional(&self) -> bool {
        self.statements().is_some_and(|statements| {
            !statements.gated.is_empty()
                || statements.inactive.iter().any(|rule| rule.missing != CapSet::none())
        })
    }

    /// A filter of a policy.
    pub(super) fn of_read(name: String, read: ReadFilter) -> Filter {
        let ReadFilter { profile, arches, weights, directive, .. } = read;
        let own_policy = profile.own_policy();
        let Profile { policy, dialect, flags, listener, statements, .. } = profile;
        let is_container = dialect.is_some();
        let rules = Rules {
            flags,
            listener,
            is_container,
            statements,
            own_policy,
            ..Rules::new(policy, arches)
        };
        let is_of_unit = directive.is_some();
        let content = FilterContent::Profile(Box::new(rules));
        Filter { is_of_unit, directive, weights, ..Filter::new(name, content) }
    }

    pub(super) fn of_program(
        name: String,
        program: LongProgram,
        endian: Endian,
        options: &SourceOptions,
    ) -> Result<Filter> {
        let mut arches = options.arch.clone();
        if arches.is_empty() {
            arches = arches_in(&program, endian);
        }
        if arches.is_empty() {
            arches = vec![options.machine()?];
        }
        Ok(Filter::new(name, FilterContent::Program { program, endian, arches }))
    }

    /// The same filter with warnings of its reader. Prints them unless the options keep them.
    pub(super) fn with_warnings(
        mut self,
        warnings: Vec<Diagnostic>,
        options: &SourceOptions,
    ) -> Filter {
        match (options.keeps_warnings, &mut self.content) {
            (false, _) => report::warn_all(&self.name, &warnings),
            (true, FilterContent::Profile(rules)) => rules.warnings.extend(warnings),
            (true, FilterContent::Program { .. }) => self.kept.extend(warnings),
        }
        self
    }

    pub(crate) fn is_profile(&self) -> bool {
        matches!(self.content, FilterContent::Profile(_))
    }

    /// The architectures that it supports.
    pub(crate) fn arches(&self) -> Vec<Arch> {
        match &self.content {
            FilterContent::Profile(profile) => profile.arches.clone(),
            FilterContent::Program { arches, .. } => arches.clone(),
        }
    }

    /// The program for the kernel; a profile is compiled. Warns about options that do not affect a
    /// program.
    pub(crate) fn program(&self, options: &CompileOptions) -> Result<Proved> {
        self.warn_about_compiling(options);
        self.program_as_it_is(options)
    }

    /// Like [`Filter::program`], but of any length.
    pub(crate) fn code(&self, options: &CompileOptions) -> Result<Cow<'_, LongProgram>> {
        self.warn_about_compiling(options);
        match &self.content {
            FilterContent::Profile(_) => Ok(Cow::Owned(self.compile(options)?.program.into())),
            FilterContent::Program { program, .. } => Ok(Cow::Borrowed(program)),
        }
    }

    fn warn_about_compiling(&self, options: &CompileOptions) {
        if !self.is_profile() {
            options.warn_about_given(
                &self.name,
                "this is already a program",
                "use `callgate compile` to compile it again",
            );
        }
    }

    /// Like [`Filter::program`], without warnings.
    pub(crate) fn program_as_it_is(&self, options: &CompileOptions) -> Result<Proved> {
        match &self.content {
            FilterContent::Profile(_) => Ok(self.compile(options)?.program),
            FilterContent::Program { program, .. } => {
                Ok(Proved::itself(self.for_the_kernel(program)?, self.endian()))
            }
        }
    }

    /// Converts a program of this filter; an error if it is too long for the kernel.
    pub(crate) fn for_the_kernel(&self, program: &LongProgram) -> Result<Program> {
        let result = Program::try_from(program.clone());
        result.map_err(|error| Failure::of(&self.name, violations(&error)))
    }

    /// Compiles a profile or a program; the result is proved.
    pub(crate) fn compile(&self, options: &CompileOptions) -> Result<Compiled> {
        self.compile_timed(options, true, &mut Stopwatch::start())
    }

    /// Like [`Filter::compile`], and measures the phases; with the expected number of executed instructions if that is asked
    /// for.
    pub(crate) fn compile_timed(
        &self,
        options: &CompileOptions,
        expected_insns: bool,
        stopwatch: &mut Stopwatch,
    ) -> Result<Compiled> {
        let mut read = options.read(&self.arches(), self.strict)?;
        read.expected_insns = expected_insns;
        if let Some(weights) = self.weights.as_ref().filter(|_| !options.has_weights()) {
            read.weights = weights.clone();
        }
        let options = read;
        self.try_compile(&options, stopwatch).map_err(|error| failed(&self.name, &error))
    }

    /// Like [`Filter::compile_timed`], with options of the compiler.
    pub(crate) fn try_compile(
        &self,
        options: &compile::Options,
        stopwatch: &mut Stopwatch,
    ) -> std::result::Result<Compiled, CompileError> {
        let observe = &mut |phase| stopwatch.note(phase);
        match &self.content {
            FilterContent::Profile(profile) => {
                compile::compile_observed(&profile.policy, options, observe)
            }
            FilterContent::Program { program, endian, arches } => {
                compile::recompile_observed(program, *endian, arches, options, observe)
            }
        }
    }

    /// Whether values are compared that are not known yet.
    pub(crate) fn has_variables(&self) -> bool {
        match &self.content {
            FilterContent::Profile(profile) => !profile.policy.variables().is_empty(),
            FilterContent::Program { .. } => false,
        }
    }

    /// Fails if variables need values.
    pub(crate) fn check_values(&self) -> Result<()> {
        match self.has_variables() {
            true => Err(failed(&self.name, &CompileError::from(DiagramError::VARIABLES))),
            false => Ok(()),
        }
    }

    /// Compiles a profile to a program with its variables. Programs have none, so it is an error for them.
    pub(crate) fn compile_template(
        &self,
        options: &CompileOptions,
        stopwatch: &mut Stopwatch,
    ) -> Result<CompiledTemplate> {
        let FilterContent::Profile(profile) = &self.content else {
            return Err(Failure::about(&self.name, "a program has no variables"));
        };
        let options = options.read(&self.arches(), self.strict)?;
        let compiled =
            compile::compile_template_observed(&profile.policy, &options, &mut |phase| {
                stopwatch.note(phase);
            });
        compiled.map_err(|error| failed(&self.name, &error))
    }

    /// Its MTBDD.
    pub(crate) fn diagram(&self, store: &mut Store) -> Result<Func> {
        match &self.content {
            FilterContent::Profile(profile) => compile::diagram(store, &profile.policy),
            FilterContent::Program { program, endian, .. } => {
                store.program(program, *endian).map_err(CompileError::from)
            }
        }
        .map_err(|error| failed(&self.name, &error))
    }

    /// Its MTBDD without the rules that a runtime adds to a profile.
    pub(crate) fn own_diagram(&self, store: &mut Store) -> Result<Func> {
        let own = match &self.content {
            FilterContent::Profile(rules) => rules.own_policy.as_ref(),
            FilterContent::Program { .. } => None,
        };
        match own {
            Some(policy) => {
                compile::diagram(store, policy).map_err(|error| failed(&self.name, &error))
            }
            None => self.diagram(store),
        }
    }

    /// Warns if a program compares the architecture, but with none of those of --arch.
    pub(super) fn warn_about_arches(&self) {
        let FilterContent::Program { program, endian, arches } = &self.content else { return };
        let compared = arches_in(program, *endian);
        let meets = |arch: &Arch| arches.iter().any(|given| given.token() == arch.token());
        if !compared.is_empty() && !compared.iter().any(meets) {
            let names = |arches: &[Arch]| {
                arches.iter().map(|arch| arch.name()).collect::<Vec<_>>().join(", ")
            };
            let (own, given) = (names(&compared), names(arches));
            report::warn_about(
                &self.name,
                format!("this program is for {own}, not for {given}"),
                "--arch only selects the names and weights of syscalls; it does not change a program",
            );
        }
    }

    /// The filter as a member of a stack.
    pub(crate) fn of_stack(&self) -> Description<'_> {
        match &self.content {
            FilterContent::Profile(profile) => Description::policy(&profile.policy)
                .with_flags(profile.flags)
                .with_listener(profile.listener.is_some()),
            FilterContent::Program { program, endian, .. } => {
                Description::program(program, *endian).with_flags(self.installed)
            }
        }
    }

    /// The filter as a subject of lint.
    pub(crate) fn subject_of_lint(&self) -> lint::Subject<'_> {
        match &self.content {
            FilterContent::Profile(rules) => lint::Subject::new(&rules.policy)
                .with_statements(rules.statements.as_ref())
                .with_warnings(&rules.warnings)
                .with_warnings_of_files(&rules.warnings_of_files),
            FilterContent::Program { program, endian, .. } => {
                lint::Subject::program(program, *endian).with_warnings(&self.kept)
            }
        }
    }

    /// The flags with which it is installed, as far as they are known.
    pub(crate) fn flags(&self) -> FilterFlags {
        match &self.content {
            FilterContent::Profile(profile) => profile.flags,
            FilterContent::Program { .. } => self.installed,
        }
    }

    /// The supervisor that handles its notifications, if the source names one.
    pub(super) fn listener(&self) -> Option<&Listener> {
        match &self.content {
            FilterContent::Profile(profile) => profile.listener.as_ref(),
            FilterContent::Program { .. } => None,
        }
    }

    /// Warns about flags that a combination with another filter, whose flags it keeps, does not have.
    pub(crate) fn warn_about_lost_flags(&self, kept: &Filter) {
        let has = |name: &str| kept.flags().each().any(|(_, other, _)| other == name);
        for (_, name, _) in self.flags().each().filter(|(_, name, _)| !has(name)) {
            report::warn_about(
                &self.name,
                format!("SECCOMP_FILTER_FLAG_{name} of this filter is not kept"),
                "the combination has the flags of the first filter",
            );
        }
    }

    /// Which kinds of filters are among these.
    pub(crate) fn kinds<'a>(filters: impl IntoIterator<Item = &'a Filter>) -> Kinds {
        let mut kinds = Kinds::default();
        for filter in filters {
            let own = match &filter.content {
                FilterContent::Profile(rules) => {
                    Kinds { profile: true, container: rules.is_container, ..Kinds::default() }
                }
                FilterContent::Program { .. } => Kinds { program: true, ..Kinds::default() },
            };
            let own = Kinds { unit: filter.is_of_unit, ..own };
            let Kinds { profile, container, program, unit } = filter.made_of.unwrap_or(own);
            kinds.profile |= profile;
            kinds.container |= container;
            kinds.program |= program;
            kinds.unit |= unit;
        }
        kinds
    }

    /// The byte order of its machines.
    pub(crate) fn endian(&self) -> Endian {
        match &self.content {
            FilterContent::Profile(profile) => profile.policy.endian(),
            FilterContent::Program { endian, .. } => *endian,
        }
    }
}

/// Warns about options that affect none of these filters, and about programs for other architectures.
pub(super) fn warn_about_options<'a>(
    filters: impl IntoIterator<Item = &'a Filter> + Clone,
    options: &SourceOptions,
) {
    if options.warns_later {
        return;
    }
    filters.clone().into_iter().for_each(Filter::warn_about_arches);
    options.warn_about_unused("", Filter::kinds(filters));
}

/// How to give variables their values.
pub(super) const GIVE_VALUES: &str = "give their values with --set NAME=VALUE";

/// The message for a failed compilation.
pub(crate) fn failed(name: &str, error: &CompileError) -> Failure {
    let help = error.help_or_values(GIVE_VALUES).unwrap_or_default();
    Failure::about(name, error.to_string()).help(help).multiline()
}
