//! Executes requests.

use callgate::compile::{self, Compiled, CompiledTemplate, Options, Stats};
use callgate::optimize::{self, Figures, Optimized, Unchanged};
use callgate::sets::Arguments;
use callgate::stack::Merged;
use callgate::{Arch, Endian, explain, sets};
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::{Diagnostic, Help};
use callgate_codegen::{Model, Weights, query};
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::{LongProgram, MAX_INSNS, RawInsn, is_constant_allow};
use callgate_trace::counts::{self, ReadCounts};

use crate::differences::{self, Differences};
use crate::explanation::{explanation, keep_only};
use crate::ignored::IgnoredBits;
use crate::json::Json;
use crate::recording::recording;
use crate::request::{Call, Compiling, Operation, Request};
use crate::source::{
    FilterContent as Content, Message, Messages, PROMPT, Reading, SourceFilter, SourceStack,
    SourceText, read, socket_filter,
};
use crate::template::variables_json;
use crate::{lint, syscall};

/// Executes a request; adds warnings.
///
/// # Errors
/// All messages about it, without these warnings.
pub fn run(request: &Request, warnings: &mut Messages) -> Result<Json, Messages> {
    match &request.operation {
        Operation::Compile { source, compiling } => compile(source, compiling, warnings),
        Operation::Template { source, compiling } => template(source, compiling, warnings),
        Operation::Optimize { source, compiling } => optimize(source, compiling, warnings),
        Operation::Merge { sources, compiling } => merge(sources, compiling, warnings),
        Operation::Explain { source, syscalls } => explain_source(source, syscalls, warnings),
        Operation::Diff { filters, max, arguments } => {
            let compared = Compared::new(filters, *arguments, warnings)?;
            let all = query::differences(&compared.store, compared.a, compared.b, usize::MAX);
            let all = all.map_err(|error| failed("a", error.to_string(), ""))?;
            let same = ("same", compared.a == compared.b);
            let roots = [compared.a, compared.b];
            Ok(compared.list(same, [], ("differences", all), roots, request.machine, *max))
        }
        Operation::Subset { filters, max, arguments } => {
            let bits = arguments.unwrap_or(Arguments::Kernel);
            let mut compared = Compared::new(filters, bits, warnings)?;
            // Conditions are those that the filters have.
            let Compared { store, a, b, whole: roots, .. } = &mut compared;
            let exceeded = |error: DiagramError| failed("a", error.to_string(), "");
            let all = sets::not_in_func(store, *a, *b, usize::MAX).map_err(exceeded)?;
            let ignored = match all.is_empty() && bits == Arguments::Kernel {
                true => IgnoredBits::find(store, *roots).map_err(exceeded)?,
                false => None,
            };
            if let (Some(ignored), None) = (&ignored, arguments) {
                let names = filters.each_ref().map(|source| source.name.as_str());
                let advice = "`arguments`: `filter` compares all bits";
                warnings.push(Message::about(names[0], ignored.warning(names, advice)));
            }
            let ignored = [(IgnoredBits::KEY, ignored.map(|one| one.json()).into())];
            let subset = ("subset", all.is_empty());
            let roots = *roots;
            Ok(compared.list(subset, ignored, ("witnesses", all), roots, request.machine, *max))
        }
        Operation::Simulate { source, compiling, call } => {
            simulate(source, compiling, call, request.machine, warnings)
        }
        Operation::Lint { source, choice } => lint::run(source, choice),
        Operation::Recording(recorded) => recording(recorded, request.machine, warnings),
    }
}

pub(crate) fn failed(source: &str, message: impl Into<String>, help: impl Into<Help>) -> Messages {
    Message::all(source, vec![Diagnostic::error(None, message).help(help)])
}

/// The options of the compiler for filters of these architectures, which are read in these ways.
pub(crate) fn options(
    compiling: &Compiling,
    arches: &[Arch],
    own: Option<&Weights>,
    readings: &[&Reading],
    warnings: &mut Messages,
) -> Result<Options, Messages> {
    const NAME: &str = "weights";
    let strict = readings.iter().any(|reading| reading.strict);
    let weights = match (&compiling.weights, arches.first()) {
        (Some(text), Some(first)) => {
            let ReadCounts { counts, warnings: more } =
                counts::read(text, *first, strict).map_err(|errors| Message::all(NAME, errors))?;
            warnings.extend(Message::all(NAME, more));
            Weights::of(counts).map_err(|error| failed(NAME, error.to_string(), ""))?
        }
        _ => own.cloned().unwrap_or_else(Weights::uniform),
    };
    let Compiling { model, aim, instructions, .. } = *compiling;
    let kernel = readings.iter().filter_map(|reading| reading.kernel).min();
    let model = model.unwrap_or_else(|| kernel.map_or_else(Model::default, Model::of_kernel));
    Ok(Options { model, aim, instructions, weights, ..Options::default() })
}

pub(crate) fn compiled(
    stack: &SourceStack,
    source: &SourceText,
    compiling: &Compiling,
    warnings: &mut Messages,
) -> Result<Compiled, Messages> {
    let own = match stack.filters.as_slice() {
        [only] => only.weights.as_ref(),
        _ => None,
    };
    stack.compile(&options(compiling, &stack.arches(), own, &[&source.reading], warnings)?)
}

fn compile(
    source: &SourceText,
    compiling: &Compiling,
    warnings: &mut Messages,
) -> Result<Json, Messages> {
    let stack = read(source, warnings)?;
    let Compiled { program, stats, .. } = compiled(&stack, source, compiling, warnings)?;
    let mut fields = vec![("source", stack.name.as_str().into())];
    fields.extend(about(&stack.arches(), stack.endian(), stack.flags()));
    fields.extend(figures(&stats));
    fields.push(("program", rows(&program)));
    Ok(Json::Object(fields))
}

fn template(
    source: &SourceText,
    compiling: &Compiling,
    warnings: &mut Messages,
) -> Result<Json, Messages> {
    let (stack, compiled) = templated(source, compiling, warnings)?;
    let mut fields = vec![("source", stack.name.as_str().into())];
    fields.extend(about(&stack.arches(), stack.endian(), stack.flags()));
    fields.extend(figures(&compiled.stats));
    fields.extend(variables_json(&compiled.template));
    fields.push(("program", rows(compiled.template.program())));
    Ok(Json::Object(fields))
}

/// The program of a policy, whose variables may have no values.
pub(crate) fn templated(
    source: &SourceText,
    compiling: &Compiling,
    warnings: &mut Messages,
) -> Result<(SourceStack, CompiledTemplate), Messages> {
    let stack = read(source, warnings)?;
    let [filter @ SourceFilter { name, content: Content::Policy(policy), arches, weights, .. }] =
        stack.filters.as_slice()
    else {
        return Err(failed(&stack.name, "only a single policy has variables", "compile it"));
    };
    let options = options(compiling, arches, weights.as_ref(), &[&source.reading], warnings)?;
    let compiled = compile::compile_template(policy, &options);
    let compiled = compiled.map_err(|error| filter.failed(&error))?;
    warnings.extend(Message::all(name, compiled.cache_warning().as_slice()));
    Ok((stack, compiled))
}

fn merge(
    sources: &[SourceText],
    compiling: &Compiling,
    warnings: &mut Messages,
) -> Result<Json, Messages> {
    let (stack, merged) = merged(sources, compiling, warnings)?;
    let names = stack.filters.iter().map(|filter| filter.name.as_str());
    let mut fields = vec![("sources", Json::array(names))];
    fields.extend(about(&stack.arches(), stack.endian(), stack.flags()));
    fields.extend(figures(&merged.compiled.stats));
    fields.push(("filters", stack.filters.len().into()));
    fields.push(("calls_run", merged.syscalls_compared.into()));
    fields.push(("program", rows(&merged.compiled.program)));
    Ok(Json::Object(fields))
}

/// One program for the filters of these sources, the oldest first.
pub(crate) fn merged(
    sources: &[SourceText],
    compiling: &Compiling,
    warnings: &mut Messages,
) -> Result<(SourceStack, Merged), Messages> {
    let mut filters = Vec::new();
    for source in sources {
        filters.extend(read(source, warnings)?.filters);
    }
    let stack = SourceStack::of_filters(filters);
    let readings: Vec<&Reading> = sources.iter().map(|source| &source.reading).collect();
    let options = options(compiling, &stack.arches(), None, &readings, warnings)?;
    let merged = stack.merge(&Options { budget: PROMPT, ..options })?;
    Ok((stack, merged))
}

fn optimize(
    source: &SourceText,
    compiling: &Compiling,
    warnings: &mut Messages,
) -> Result<Json, Messages> {
    let stack = read(source, warnings)?;
    let [
        filter @ SourceFilter {
            name,
            content: Content::Program(program, endian),
            arches,
            flags,
            ..
        },
    ] = stack.filters.as_slice()
    else {
        let help = "compile it, which also optimizes";
        return Err(failed(&stack.name, "this is a profile, not a BPF program", help));
    };
    let options = options(compiling, arches, None, &[&source.reading], warnings)?;
    let options = Options { budget: PROMPT, ..options };
    let optimized = optimize::optimize(program, *endian, arches, &options);
    let optimized: Optimized = optimized.map_err(|error| match program.len() <= MAX_INSNS {
        true => filter.failed(&error),
        false => failed(
            name,
            format!(
                "found no equivalent program that the kernel accepts: the given one has {} instructions, the \
                 limit is {MAX_INSNS}: {error}",
                program.len()
            ),
            error.help().unwrap_or_default(),
        ),
    })?;
    let reason = optimized.outcome.as_ref().err().map(Unchanged::to_string);
    let mut fields = vec![("source", name.as_str().into())];
    fields.extend(about(arches, *endian, *flags));
    fields.extend(of_program(&optimized.after));
    fields.push(("before", Json::Object(of_program(&optimized.before))));
    fields.push(("optimized", optimized.outcome.is_ok().into()));
    fields.push(("reason", reason.into()));
    if let Ok(stats) = &optimized.outcome {
        fields.push(("nodes", stats.nodes.into()));
    }
    fields.push(("proved", optimized.outcome.is_ok().into()));
    fields.push(("program", rows(&optimized.program)));
    Ok(Json::Object(fields))
}

fn explain_source(
    source: &SourceText,
    syscalls: &[String],
    warnings: &mut Messages,
) -> Result<Json, Messages> {
    let stack = read(source, warnings)?;
    let mut store = Store::default();
    let root = stack.combined_diagram(&mut store, warnings)?;
    let mut explained = explain::explain(&store, root, &stack.arches());
    if !syscalls.is_empty() {
        keep_only(&mut explained, syscalls).map_err(|error| Message::all(&stack.name, [error]))?;
    }
    Ok(explanation(&stack.name, &explained))
}

/// Two filters as functions.
struct Compared {
    store: Store,
    a: Func,
    b: Func,
    arguments: Arguments,
    /// The functions of all bits of arguments.
    whole: [Func; 2],
}

impl Compared {
    fn new(
        sources: &[SourceText; 2],
        arguments: Arguments,
        warnings: &mut Messages,
    ) -> Result<Compared, Messages> {
        let [a, b] = sources;
        let (a, b) = (read(a, warnings)?, read(b, warnings)?);
        b.check_byte_order(&a)?;
        let mut store = Store::default();
        let (a, b) =
            (a.combined_diagram(&mut store, warnings)?, b.combined_diagram(&mut store, warnings)?);
        let whole = [a, b];
        let mut read = |name, func| {
            let read = arguments.read(&mut store, func);
            read.map_err(|error| failed(name, error.to_string(), ""))
        };
        let (a, b) = (read("a", a)?, read("b", b)?);
        Ok(Compared { store, a, b, arguments, whole })
    }

    /// Whether there are no differences, more fields, and the differences, each with its key.
    fn list(
        &self,
        (none_key, is_none): (&'static str, bool),
        more: impl IntoIterator<Item = (&'static str, Json)>,
        (key, all): (&'static str, Vec<query::Difference>),
        roots: [Func; 2],
        machine: Arch,
        max: Option<u32>,
    ) -> Json {
        let differences = Differences::new(all, Some(machine), max);
        let compared = differences::Compared::new(&self.store, roots, &differences);
        let mut fields =
            vec![(none_key, is_none.into()), ("arguments", self.arguments.name().into())];
        fields.extend(more);
        fields.extend(differences.fields(key, &compared));
        Json::Object(fields)
    }
}

fn simulate(
    source: &SourceText,
    compiling: &Compiling,
    call: &Call,
    machine: Arch,
    warnings: &mut Messages,
) -> Result<Json, Messages> {
    let socket = |errors| socket_filter(source).map_or(errors, |error| vec![error]);
    let stack = read(source, warnings).map_err(socket)?;
    let arch = call.arch_among(&stack.arches(), machine);
    let data = call.data(arch).map_err(|error| vec![Message::of_request(error)])?;
    let program: LongProgram = match stack.filters.as_slice() {
        [SourceFilter { content: Content::Program(program, _), .. }] => program.clone(),
        _ => compiled(&stack, source, compiling, warnings)?.program.into(),
    };
    let run = program.run(&data, stack.endian());
    // The kernel's cache does not contain x32 numbers.
    let constant = arch != Arch::X32 && is_constant_allow(&program, data.arch, data.nr);
    let mut fields = syscall::fields(Some(arch), &data);
    fields.extend([
        ("verdict", run.verdict.to_string().into()),
        ("value", run.verdict.0.into()),
        ("permitted", run.verdict.permits().into()),
        ("executed", run.executed.into()),
        ("constant_allow", constant.into()),
    ]);
    Ok(Json::Object(fields))
}

/// The architectures, the byte order and the flags of a program.
fn about(arches: &[Arch], endian: Endian, flags: FilterFlags) -> Vec<(&'static str, Json)> {
    let order = match endian {
        Endian::Little => "little",
        Endian::Big => "big",
    };
    let flags = flags.each().map(|(_, name, _)| format!("SECCOMP_FILTER_FLAG_{name}"));
    vec![
        ("arches", Json::array(arches.iter().map(|arch| arch.name()))),
        ("endian", order.into()),
        ("flags", Json::array(flags)),
    ]
}

fn figures(stats: &Stats) -> Vec<(&'static str, Json)> {
    vec![
        ("insns", stats.insns.into()),
        ("filtered_insns", stats.filtered_insns.into()),
        ("expected_insns", stats.expected_insns.into()),
        ("constant_allow", stats.constant_allow.into()),
        ("nodes", stats.nodes.into()),
        // Nothing else is compiled.
        ("proved", true.into()),
    ]
}

fn of_program(figures: &Figures) -> Vec<(&'static str, Json)> {
    vec![
        ("insns", figures.insns.into()),
        ("filtered_insns", figures.filtered_insns.into()),
        ("expected_insns", figures.expected_insns.into()),
        ("constant_allow", figures.constant_allow.into()),
    ]
}

/// The fields of the instructions, `[code, jt, jf, k]` each.
fn rows(program: &LongProgram) -> Json {
    Json::array(program.to_raw().into_iter().map(|RawInsn { code, jt, jf, k }| {
        Json::Array(vec![code.into(), jt.into(), jf.into(), k.into()])
    }))
}
