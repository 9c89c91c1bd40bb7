//! Source code with a program for each of several targets, of which the compiler of the language takes the right one.
//!
//! C: `#if`, `#elif` and `#error`. Rust: `#[cfg(…)]` and `compile_error!`. Go: a switch of the constant `runtime.GOARCH`, so that
//! the linker leaves out the other arrays; other targets do not compile.

use super::installer::{self, Installed};
use super::language::Language;
use super::names::Names;
use super::source::SourceOptions;
use super::target::target_condition;
use super::variables::{Parameters, function};
use callgate_bpf::disasm::{ListingOptions, disassemble, disassemble_template};
use callgate_bpf::template::{Template, Variable};
use callgate_bpf::{Arch, LongProgram};

/// A program for a target.
#[derive(Clone, Debug)]
pub struct TargetProgram<'p> {
    /// The architecture for which the source code is compiled.
    pub target: Arch,
    /// The architectures of the filter, for comments.
    pub arches: Vec<Arch>,
    /// The program.
    pub code: TargetCode<'p>,
}

/// The program for a target.
#[derive(Clone, Copy, Debug)]
pub enum TargetCode<'p> {
    /// A program without variables.
    Program(&'p LongProgram),
    /// A program with variables.
    Template(&'p Template),
}

impl TargetCode<'_> {
    fn variables(&self) -> &[Variable] {
        match self {
            TargetCode::Program(_) => &[],
            TargetCode::Template(template) => template.variables(),
        }
    }
}

/// Why there is no source code for these targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetError(TargetErrorKind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TargetErrorKind {
    None,
    Unknown { language: Language, target: Arch },
    Twice(Arch),
    OtherVariables { first: Arch, target: Arch },
}

impl std::fmt::Display for TargetError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            TargetErrorKind::None => f.write_str("no target is given"),
            TargetErrorKind::Unknown { language, target } => {
                write!(f, "{language:?} has no target {target}")
            }
            TargetErrorKind::Twice(target) => write!(f, "the target {target} is given twice"),
            TargetErrorKind::OtherVariables { first, target } => {
                write!(f, "the filter for {target} has other variables than that for {first}")
            }
        }
    }
}

impl std::error::Error for TargetError {}

/// A program with the condition of its target.
struct Conditional<'p> {
    program: &'p TargetProgram<'p>,
    condition: String,
}

/// Programs for several targets as source code. `endian` and `arches` of the options are not used: each program has its own.
///
/// ```
/// use callgate::emit::{Language, SourceOptions, TargetCode, TargetProgram, source_for_targets};
/// use callgate::{Arch, Filter};
///
/// let compile = |arch| Filter::builder(arch).allow(["read"])?.build()?.compile();
/// let programs = [(Arch::X86_64, compile(Arch::X86_64)?), (Arch::Aarch64, compile(Arch::Aarch64)?)];
/// let programs = programs.each_ref().map(|(target, program)| TargetProgram {
///     target: *target,
///     arches: vec![*target],
///     code: TargetCode::Program(program),
/// });
/// let text = source_for_targets(&programs, &SourceOptions::new(Language::C))?;
/// assert!(text.contains("#elif defined(__aarch64__)"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the language has no such target, a target is given twice, or the programs have different variables.
pub fn source_for_targets(
    programs: &[TargetProgram<'_>],
    options: &SourceOptions,
) -> Result<String, TargetError> {
    let first = programs.first().ok_or(TargetError(TargetErrorKind::None))?;
    let language = options.language;
    let mut all = Vec::new();
    for (nth, program) in programs.iter().enumerate() {
        let target = program.target;
        let unknown = TargetErrorKind::Unknown { language, target };
        let condition = target_condition(language, target).ok_or(TargetError(unknown))?;
        if programs.iter().take(nth).any(|other| other.target == target) {
            return Err(TargetError(TargetErrorKind::Twice(target)));
        }
        if program.code.variables() != first.code.variables() {
            let first = first.target;
            return Err(TargetError(TargetErrorKind::OtherVariables { first, target }));
        }
        all.push(Conditional { program, condition });
    }
    let has_variables = !first.code.variables().is_empty();
    let names = Names::new(language, options.name.as_deref(), has_variables);
    let parameters = Parameters::new(language, first.code.variables(), &names);
    Ok(match language {
        Language::C => c(&all, options, &names, &parameters, has_variables),
        Language::Rust => rust(&all, options, &names, &parameters, has_variables),
        Language::Go => go(&all, options, &parameters, has_variables),
    })
}

/// The array of a program, and the function that sets its variables; empty without variables.
fn parts(
    program: &TargetProgram<'_>,
    language: Language,
    names: &Names,
    name: Option<String>,
    parameters: &Parameters,
) -> (String, String) {
    let arches = program.arches.clone();
    let listing = ListingOptions { endian: program.target.endian(), arches, name };
    let dialect = language.dialect();
    match program.code {
        TargetCode::Program(code) => (disassemble(code, dialect, &listing), String::new()),
        TargetCode::Template(template) => (
            disassemble_template(template, dialect, &listing),
            function(language, template, names, parameters),
        ),
    }
}

fn c(
    all: &[Conditional<'_>],
    options: &SourceOptions,
    names: &Names,
    parameters: &Parameters,
    has_variables: bool,
) -> String {
    let mut out = String::new();
    let mut directive = "#if";
    for Conditional { program, condition } in all {
        let (array, set) = parts(program, Language::C, names, options.name.clone(), parameters);
        out += &format!("{directive} {condition}\n\n{array}{set}\n");
        directive = "#elif";
    }
    out += "#else\n#error \"there is no filter for this architecture\"\n#endif\n";
    let insns = format!("sizeof({0}) / sizeof({0}[0])", names.array);
    let set = has_variables.then_some(Installed::Set { parameters, insns: &insns });
    out + &installer(Language::C, options, names, set)
}

/// The function that installs the array of the target, or what the values of variables make of it; empty if it is not
/// wanted.
fn installer(
    language: Language,
    options: &SourceOptions,
    names: &Names,
    set: Option<Installed<'_>>,
) -> String {
    let installed = set.unwrap_or(Installed::Array);
    match options.installer {
        true => installer::function(language, names, options.flags, &installed),
        false => String::new(),
    }
}

fn rust(
    all: &[Conditional<'_>],
    options: &SourceOptions,
    names: &Names,
    parameters: &Parameters,
    has_variables: bool,
) -> String {
    let mut out = String::new();
    let name = options.name.as_ref().map(|name| name.to_uppercase());
    for Conditional { program, condition } in all {
        let (array, set) = parts(program, Language::Rust, names, name.clone(), parameters);
        for item in [array, set].iter().filter(|item| !item.is_empty()) {
            out += &format!("#[cfg({condition})]\n{}\n", item.trim_start());
        }
    }
    let conditions: Vec<&str> = all.iter().map(|one| one.condition.as_str()).collect();
    out += &format!(
        "#[cfg(not(any({})))]\ncompile_error!(\"there is no filter for this architecture\");\n",
        conditions.join(", ")
    );
    let set = has_variables.then_some(Installed::Set { parameters, insns: "" });
    out + &installer(Language::Rust, options, names, set)
}

fn go(
    all: &[Conditional<'_>],
    options: &SourceOptions,
    parameters: &Parameters,
    has_variables: bool,
) -> String {
    let name = options.name.as_deref().unwrap_or("filter");
    let mut names = Names::new(Language::Go, Some(name), has_variables);
    if !has_variables {
        names.function = name.to_owned();
    }
    let Names { function, .. } = &names;
    let mut out = installer::go_imports(options.package(), options.installer);
    let mut cases = String::new();
    let mut known = Vec::new();
    for Conditional { program, condition } in all {
        let mut letters = condition.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        let own: String = name.chars().chain(first).chain(letters).collect();
        let own_names = Names::new(Language::Go, Some(&own), has_variables);
        let (array, set) = parts(program, Language::Go, &own_names, Some(own.clone()), parameters);
        out += &format!("{array}{set}\n");
        let value = match has_variables {
            true => format!("{}({})", own_names.function, parameters.passed),
            false => own,
        };
        cases += &format!("\tcase \"{condition}\":\n\t\treturn {value}\n");
        known.push(format!("runtime.GOARCH == \"{condition}\""));
    }
    out += &format!(
        "// A duplicate key if there is no program for this architecture.\n\
         var _ = map[bool]struct{{}}{{false: {{}}, {}: {{}}}}\n",
        known.join(" || ")
    );
    let what = if has_variables { " and these values of its variables" } else { "" };
    let declared = &parameters.declared;
    out += &format!(
        "
// {function} returns the program for this architecture{what}.
func {function}({declared}) []unix.SockFilter {{
\tswitch runtime.GOARCH {{
{cases}\tdefault:
\t\treturn nil
\t}}
}}
"
    );
    let set = Installed::Set { parameters, insns: "" };
    out + &installer(Language::Go, options, &names, Some(set))
}
