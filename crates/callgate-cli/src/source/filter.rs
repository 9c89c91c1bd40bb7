//! Filters with the options of the command: how they are compiled.

use std::borrow::Cow;
use std::ops::Deref;

use callgate::Proved;
use callgate::compile::{self, CompileError, Compiled, CompiledTemplate};
use callgate_core::{LongProgram, Program};
use callgate_requests::source::{Kinds, Message, SourceFilter, Wording, arches_in, violations};

use super::format::in_android;
use super::place::Place;
use crate::options::{CompileOptions, NATIVE_ENDIAN, SourceOptions};
use crate::report::{self, Failure, Result};
use crate::stopwatch::Stopwatch;
use crate::text::printable;

/// The words of the command.
pub(super) const WORDING: &Wording = &Wording {
    give_values: "give their values with --set NAME=VALUE",
    give_values_to_merge: "give their values with --set NAME=VALUE",
    one_byte_order: "choose one machine with --arch, or the byte order of a program with --endian",
    choose_arch: "choose another architecture with --arch",
    one_arch: "give --arch once",
    byte_order: "omit --endian and --arch, or give the byte order of the text",
    give_format: "write FORMAT: before its name (see `callgate --help`)",
    choose_format: "choose the profile (oci:FILE) or the program (bpftext:FILE)",
    give_raw: "for a program as raw instructions, write bpf:FILE",
    give_content: "name the file on the command line in place of this one",
    socket_filters: "socket filters are for `callgate simulate`, `explain`, `disasm`, `diff`, `optimize` and `bench engines`; \
                     `callgate asm socket:FILE` assembles one",
    no_parts: [
        "the file has no parts with names",
        "#NAME is for Kubernetes resources, Firecracker threads, Android filters (android:) and arrays in source code",
    ],
    android_filter: |directory, filter| match filter {
        "" => format!("write {}", in_android(directory)),
        filter => format!("{}#{filter}", in_android(directory)),
    },
    empty: |name| match name == Place::STDIN {
        true => "check the command before the pipe, or redirect a file: < FILE",
        false => "check whether the command that wrote the file failed",
    },
    converted: |command, name| match name == Place::STDIN {
        true => format!("{command} - | callgate … -"),
        false => format!("{command} {} | callgate … -", printable(name)),
    },
};

/// A program as a filter.
pub(super) fn program_filter(
    name: String,
    program: LongProgram,
    options: &SourceOptions,
) -> Result<SourceFilter> {
    let arches = [&options.arch, &arches_in(&program, NATIVE_ENDIAN)];
    let arches = match arches.into_iter().find(|arches| !arches.is_empty()) {
        Some(arches) => arches.clone(),
        None => vec![options.machine()?],
    };
    let filter = SourceFilter::of_program(name, program, NATIVE_ENDIAN, arches);
    Ok(filter.of_caller(WORDING, options.strict))
}

/// The program of a filter for the kernel.
#[derive(Clone, Debug)]
pub(crate) enum KernelProgram {
    /// Compiled, or made of other filters, and proved.
    Compiled(Proved),
    /// The source is a program, of which nothing is proved.
    Given(Program),
}

impl Deref for KernelProgram {
    type Target = Program;

    fn deref(&self) -> &Program {
        match self {
            KernelProgram::Compiled(proved) => proved,
            KernelProgram::Given(program) => program,
        }
    }
}

impl From<KernelProgram> for Program {
    fn from(program: KernelProgram) -> Program {
        match program {
            KernelProgram::Compiled(proved) => proved.into_program(),
            KernelProgram::Given(program) => program,
        }
    }
}

/// Compiles filters with the options of the command.
pub(crate) trait Compile {
    /// The filter.
    fn filter(&self) -> &SourceFilter;

    /// The program for the kernel; a policy is compiled. Warns about options that do not affect a program.
    fn kernel_program(&self, options: &CompileOptions) -> Result<KernelProgram> {
        warn_about_compiling(self.filter(), options);
        self.program_as_it_is(options)
    }

    /// Like [`Compile::kernel_program`], but of any length.
    fn code(&self, options: &CompileOptions) -> Result<Cow<'_, LongProgram>> {
        warn_about_compiling(self.filter(), options);
        match self.filter().given_program() {
            None => Ok(Cow::Owned(self.compile(options)?.program.into())),
            Some(program) => Ok(Cow::Borrowed(program)),
        }
    }

    /// Like [`Compile::kernel_program`], without warnings.
    fn program_as_it_is(&self, options: &CompileOptions) -> Result<KernelProgram> {
        let filter = self.filter();
        match (filter.proved(), filter.given_program()) {
            (Some(proved), _) => Ok(KernelProgram::Compiled(proved.clone())),
            (None, Some(program)) => Ok(KernelProgram::Given(self.for_the_kernel(program)?)),
            (None, None) => Ok(KernelProgram::Compiled(self.compile(options)?.program)),
        }
    }

    /// Converts a program of this filter; an error if it is too long for the kernel.
    fn for_the_kernel(&self, program: &LongProgram) -> Result<Program> {
        let refused = |error| violations(&error, WORDING.socket_filters);
        let result = Program::try_from(program.clone());
        result.map_err(|error| Failure::of(&self.filter().name, refused(error)))
    }

    /// Compiles a policy or a program; the result is proved.
    fn compile(&self, options: &CompileOptions) -> Result<Compiled> {
        self.compile_timed(options, true, &mut Stopwatch::start())
    }

    /// The options of the compiler; without --weights, with those of the filter.
    fn options(&self, options: &CompileOptions) -> Result<compile::Options> {
        let filter = self.filter();
        let mut read = options.read(&filter.arches, filter.strict)?;
        if let Some(weights) = filter.weights.as_ref().filter(|_| !options.has_weights()) {
            read.weights = weights.clone();
        }
        Ok(read)
    }

    /// Like [`Compile::compile`], and measures the phases; with the expected number of executed instructions if that is asked
    /// for.
    fn compile_timed(
        &self,
        options: &CompileOptions,
        expected_insns: bool,
        stopwatch: &mut Stopwatch,
    ) -> Result<Compiled> {
        let filter = self.filter();
        let read = compile::Options { expected_insns, ..self.options(options)? };
        let compiled = filter.compile_observed(&read, &mut |phase| stopwatch.note(phase));
        Ok(compiled.map_err(|error| filter.failed(&error))?)
    }

    /// Compiles a policy to a program with its variables. Programs have none, so it is an error for them.
    fn compile_template(
        &self,
        options: &CompileOptions,
        stopwatch: &mut Stopwatch,
    ) -> Result<CompiledTemplate> {
        let filter = self.filter();
        let Some(policy) = filter.policy() else {
            return Err(Failure::about(&filter.name, "a program has no variables"));
        };
        let options = self.options(options)?;
        let observe = &mut |phase| stopwatch.note(phase);
        let compiled = compile::compile_template_observed(policy, &options, observe);
        Ok(compiled.map_err(|error| filter.failed(&error))?)
    }
}

impl Compile for SourceFilter {
    fn filter(&self) -> &SourceFilter {
        self
    }
}

fn warn_about_compiling(filter: &SourceFilter, options: &CompileOptions) {
    if filter.given_program().is_some() {
        options.warn_about_given(
            &filter.name,
            "this is already a program",
            "use `callgate compile` to compile it again",
        );
    }
}

/// Warns about options that affect none of these filters, and about programs for other architectures.
pub(super) fn warn_about_options<'a>(
    filters: impl IntoIterator<Item = &'a SourceFilter> + Clone,
    options: &SourceOptions,
) {
    if options.warns_later {
        return;
    }
    for filter in filters.clone() {
        let Some(own) = filter.other_arches() else { continue };
        let names = |arches: &[callgate::Arch]| {
            arches.iter().map(|arch| arch.name()).collect::<Vec<_>>().join(", ")
        };
        let (own, given) = (names(&own), names(&filter.arches));
        report::warn_about(
            &filter.name,
            format!("this program is for {own}, not for {given}"),
            "--arch only selects the names and weights of syscalls; it does not change a program",
        );
    }
    options.warn_about_unused("", Kinds::of(filters));
}

/// The message for a failed compilation.
pub(crate) fn failed(name: &str, error: &CompileError) -> Failure {
    Message::failed(name, error, WORDING.give_values).into()
}
