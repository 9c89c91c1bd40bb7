//! The verdict of a filter for one syscall.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Instant;

use callgate::fuzz::plain_program;
use callgate::{Arch, SeccompData, Verdict};
use callgate_core::policy::Policy;
use callgate_core::{LongProgram, is_constant_allow};
use callgate_vm::{EngineKind, Reference, SeccompEngine, SelectedEngine};

use super::args::{EvaluatedForm, SimulateArgs};
use super::engine::EngineReport;
use super::trace::{trace_json, trace_text};
use crate::any_values::{Depending, depending};
use crate::called::{Called, called};
use crate::options::{CompileOptions, Format};
use crate::output::wrap;
use crate::report::{self, Failure, Result};
use crate::source::{Compile, FilterContent, SourceFilter};
use callgate_requests::explanation::outcome_json;
use callgate_requests::json::Json;
use callgate_requests::syscall;

/// The verdict for a syscall.
struct SyscallResult<'a> {
    arch: Option<Arch>,
    data: &'a SeccompData,
    /// The arguments that may have any value; the verdict is the same for all.
    any: &'a [u8],
    verdict: Verdict,
    /// `None` for rules, which execute no instructions.
    ran: Option<Execution>,
}

/// The execution of a program.
struct Execution {
    /// The number of executed instructions.
    executed: usize,
    /// The number of instructions in the program.
    len: usize,
    /// Whether the kernel's cache allows the syscall without running the program.
    constant: bool,
    engine: EngineReport,
}

/// The verdict as text or JSON.
pub(super) fn answer(args: &SimulateArgs, filter: &SourceFilter, call: &str) -> Result<String> {
    let mut called = called(call, &args.args, args.token, &args.subject.reading, &filter.arches)?;
    called.data.instruction_pointer = args.ip.unwrap_or(called.data.instruction_pointer);
    if let Some(depending) = depending(&called, |store| filter.diagram(store))? {
        return Ok(depends(args, &called, &depending));
    }
    let Called { arch, data, any, .. } = called;
    let mut steps = Vec::new();
    let finding = match evaluated(args.by, filter, &args.subject.compiling)? {
        Evaluated::Policy(policy) => {
            let unused = [
                ("--trace", "--by rules executes no instructions", args.trace),
                ("--engine", "--by rules runs no program", args.engine != EngineKind::Reference),
                ("--stats", "--by rules runs no program", args.stats),
            ];
            for (option, why, _) in unused.into_iter().filter(|(.., given)| *given) {
                report::warn(
                    format!("{option} has no effect: {why}"),
                    "use --by plain, which runs a program that tests rule by rule",
                );
            }
            SyscallResult {
                arch,
                data: &data,
                any: &any,
                verdict: policy.evaluate(&data),
                ran: None,
            }
        }
        Evaluated::Program(program) => {
            let endian = filter.endian();
            let run = program.trace(&data, endian, |step| steps.push(step));
            let start = Instant::now();
            let made = made(args.engine, filter, &program)?;
            let (asked, size) = (args.engine, SeccompEngine::code_bytes);
            let (answering, engine) = EngineReport::of(asked, made, start.elapsed(), size);
            engine.check(answering.verdict(&data).0, run.verdict.0)?;
            let ran = Execution {
                executed: run.executed,
                len: program.len(),
                // The kernel's cache does not contain x32 numbers.
                constant: arch != Some(Arch::X32)
                    && is_constant_allow(&program, data.arch, data.nr),
                engine,
            };
            SyscallResult { arch, data: &data, any: &any, verdict: run.verdict, ran: Some(ran) }
        }
    };
    Ok(match args.format {
        Format::Json => {
            let mut fields = finding.fields(args.stats);
            fields.extend(args.trace.then(|| ("trace", trace_json(&steps))));
            format!("{}\n", Json::Object(fields))
        }
        Format::Text => {
            let mut text = if args.trace { trace_text(&steps) } else { String::new() };
            text.push_str(&finding.line());
            if let Some(ran) = finding.ran.filter(|_| args.stats) {
                text.push_str(&ran.engine.line());
            }
            text
        }
    })
}

/// The verdicts of a syscall of which some arguments may have any value, as text or JSON.
fn depends(args: &SimulateArgs, call: &Called, depending: &Depending) -> String {
    match args.format {
        Format::Text => {
            let mut text = String::new();
            depending.text(call).iter().for_each(|line| wrap(&mut text, line, 0, 2));
            text
        }
        Format::Json => {
            let mut fields = syscall::fields(call.arch, &call.data);
            fields.extend([
                ("any", Json::array(call.any.iter().map(|index| u32::from(*index)))),
                ("outcome", outcome_json(&depending.outcome)),
            ]);
            format!("{}\n", Json::Object(fields))
        }
    }
}

/// Prepares an engine. Only the interpreter runs programs that are too long for the kernel.
fn made(
    kind: EngineKind,
    filter: &SourceFilter,
    program: &LongProgram,
) -> Result<SelectedEngine<dyn SeccompEngine>> {
    let endian = filter.endian();
    if kind == EngineKind::Reference {
        let engine = Box::new(Reference::new(program, endian));
        return Ok(SelectedEngine { engine, kind, fallback: None });
    }
    Ok(kind.seccomp_or_decoded(&filter.for_the_kernel(program)?, endian))
}

/// The form of the filter that is evaluated.
enum Evaluated<'a> {
    Policy(&'a Policy),
    Program(Cow<'a, LongProgram>),
}

fn evaluated<'a>(
    by: EvaluatedForm,
    filter: &'a SourceFilter,
    options: &CompileOptions,
) -> Result<Evaluated<'a>> {
    filter.check_values()?;
    let program = match (by, &filter.content) {
        (EvaluatedForm::Program, _) => filter.code(options)?,
        (EvaluatedForm::Optimized, _) => Cow::Owned(filter.compile(options)?.program.into()),
        (EvaluatedForm::Rules, FilterContent::Policy(policy)) => {
            return Ok(Evaluated::Policy(policy));
        }
        (EvaluatedForm::Plain, FilterContent::Policy(policy)) => match plain_program(policy) {
            Ok(program) => Cow::Owned(program.into()),
            Err(error) => {
                let why = format!("the program of --by plain is too long: {error}");
                return Err(Failure::about(&filter.name, why));
            }
        },
        (EvaluatedForm::Rules | EvaluatedForm::Plain, FilterContent::Program(..)) => {
            let why = format!("--by {} needs a profile, but this is a BPF program", by.name());
            return Err(
                Failure::about(&filter.name, why).help("use --by program or --by optimized")
            );
        }
    };
    Ok(Evaluated::Program(program))
}

impl SyscallResult<'_> {
    fn line(&self) -> String {
        let arch = syscall::arch_name(self.arch, self.data.arch);
        let call = syscall::show_any(self.arch, self.data, self.any);
        let mut text = format!("{arch} {call}: {}", self.verdict);
        let _ = match &self.ran {
            Some(Execution { executed, len, .. }) => {
                write!(text, ", {executed} of {len} instructions executed")
            }
            None => write!(text, ", according to the rules"),
        };
        if self.ran.as_ref().is_some_and(|ran| ran.constant) {
            text.push_str(" (none if the kernel has cached it)");
        }
        text + "\n"
    }

    fn fields(&self, stats: bool) -> Vec<(&'static str, Json)> {
        let ran = self.ran.as_ref();
        let mut fields = syscall::fields(self.arch, self.data);
        fields.extend([
            ("verdict", self.verdict.to_string().into()),
            ("value", self.verdict.0.into()),
            ("permitted", self.verdict.permits().into()),
            ("executed", ran.map(|ran| ran.executed).into()),
            ("constant_allow", ran.is_some_and(|ran| ran.constant).into()),
        ]);
        match ran {
            Some(ran) => fields.extend(ran.engine.fields(stats)),
            None => fields.extend([("engine", Json::Null), ("fallback", Json::Null)]),
        }
        fields
    }
}
