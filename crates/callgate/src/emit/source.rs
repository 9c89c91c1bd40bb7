//! Source code of a program, and source code with a program for each of several targets, of which the compiler of the
//! language takes the right one.
//!
//! C: `#if`, `#elif` and `#error`. Rust: `#[cfg(…)]` and `compile_error!`. Go: a switch of the constant `runtime.GOARCH`, so that
//! the linker leaves out the other arrays; other targets do not compile.

use callgate_bpf::FilterFlags;
use callgate_bpf::disasm::{ListingOptions, disassemble, disassemble_template};
use callgate_core::template::{Template, Variable};
use callgate_core::{Arch, Endian, LongProgram};

use super::installer::{self, Installed, Manner};
use super::language::{EmitError, EmitErrorKind, SourceLanguage, target_condition};
use super::names::{Names, check_package, check_word};
use super::variables::{Parameters, function};
use crate::listener::needs_listener;

/// How a program becomes source code.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceOptions {
    /// The language.
    pub language: SourceLanguage,
    /// The name of the array and, with a prefix or suffix, of functions: an identifier. `None`: `filter`.
    pub name: Option<String>,
    /// The package of a Go file with an installer. `None`: `main`.
    pub package: Option<String>,
    /// Whether there are functions that install the filter: in all threads of the process, in the calling thread, and with
    /// other flags or without `no_new_privs`. Those of a filter that notifies a listener (USER_NOTIF) return it, and are
    /// called `install_NAME_listener` in place of `install_NAME`. They do not check for which architecture the filter is:
    /// [`source_for_targets`] does when the code is compiled, and code of [`source`](source()) is for one architecture.
    pub installer: bool,
    /// The flags with which they install the filter; TSYNC depends on the function.
    pub flags: FilterFlags,
    /// The byte order of the machines, for comments.
    pub endian: Endian,
    /// The architectures of the filter, for comments.
    pub arches: Vec<Arch>,
}

impl SourceOptions {
    /// Options for a language, without an installer.
    pub fn new(language: SourceLanguage) -> SourceOptions {
        SourceOptions {
            language,
            name: None,
            package: None,
            installer: false,
            flags: FilterFlags::NONE,
            endian: Endian::Little,
            arches: Vec::new(),
        }
    }

    pub(super) fn package(&self) -> &str {
        self.package.as_deref().unwrap_or("main")
    }

    fn listing(&self) -> ListingOptions {
        let name = self.name.as_ref().map(|name| match self.language {
            SourceLanguage::Rust => name.to_uppercase(),
            SourceLanguage::C | SourceLanguage::Go => name.clone(),
        });
        ListingOptions { endian: self.endian, arches: self.arches.clone(), name }
    }

    /// The names, checked; in Go, also that of the package.
    pub(super) fn names(&self, has_variables: bool, listens: bool) -> Result<Names, EmitError> {
        if let Some(name) = &self.name {
            check_word(name)?;
        }
        let names = Names::new(self.language, self.name.as_deref(), has_variables, listens);
        names.check(self.language)?;
        if self.language == SourceLanguage::Go {
            check_package(self.package())?;
        }
        Ok(names)
    }

    /// How functions install these programs. Fails if they are wanted, but could not work.
    fn manner<'c>(
        &self,
        codes: impl IntoIterator<Item = &'c TargetCode<'c>>,
    ) -> Result<Manner, EmitError> {
        let (flags, mut codes) = (self.flags, codes.into_iter());
        let listens = codes.any(|code| needs_listener(code.program().insns()));
        match self.installer && !listens && flags.contains(FilterFlags::WAIT_KILLABLE_RECV) {
            true => Err(EmitError(EmitErrorKind::WaitKillable)),
            false => Ok(Manner { flags, listens }),
        }
    }

    /// Code with the functions that install the filter, if they are wanted.
    fn with_installer(
        &self,
        code: String,
        names: &Names,
        manner: Manner,
        installed: &Installed<'_>,
    ) -> String {
        if !self.installer {
            return code;
        }
        let code = code + &installer::functions(self.language, names, manner, installed);
        match self.language {
            SourceLanguage::C => installer::guarded(names, &code),
            SourceLanguage::Rust | SourceLanguage::Go => code,
        }
    }
}

/// A program as source code.
///
/// # Errors
/// If the language reserves a name, or an installer could not work: its flag needs a listener, and the filter notifies none.
pub fn source(program: &LongProgram, options: &SourceOptions) -> Result<String, EmitError> {
    single(TargetCode::Program(program), options)
}

/// A program with variables as source code: an array, and a function whose parameters are the variables. Without variables, as
/// [`source`].
///
/// # Errors
/// As [`source`].
pub fn template_source(template: &Template, options: &SourceOptions) -> Result<String, EmitError> {
    single(TargetCode::Template(template), options)
}

/// The parameters of the functions of a program with these variables, as they are declared and as a function with these
/// parameters passes them on: for Rust, `fd: u32` and `fd`.
///
/// ```
/// use callgate::emit::{SourceLanguage, SourceOptions, parameters};
/// use callgate_core::template::Variable;
///
/// let variables = [Variable::u32("fd")?, Variable::u32("match")?];
/// let declared = parameters(&variables, &SourceOptions::new(SourceLanguage::Rust))?;
/// assert_eq!(declared[0], ("fd: u32".to_owned(), "fd".to_owned()));
/// assert_eq!(declared[1].1, "var_match"); // a keyword
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the language reserves a name.
pub fn parameters(
    variables: &[Variable],
    options: &SourceOptions,
) -> Result<Vec<(String, String)>, EmitError> {
    let names = options.names(!variables.is_empty(), false)?;
    Ok(Parameters::new(options.language, variables, &names).each())
}

fn single(code: TargetCode<'_>, options: &SourceOptions) -> Result<String, EmitError> {
    let (language, variables) = (options.language, code.variables());
    let manner = options.manner([&code])?;
    let names = options.names(!variables.is_empty(), manner.listens)?;
    let parameters = Parameters::new(language, variables, &names);
    let mut text = match (language, options.installer) {
        (SourceLanguage::Go, true) => {
            installer::go_imports(options.package(), Some(manner.listens))
        }
        _ => String::new(),
    };
    let (array, set) = parts(code, language, &options.listing(), &names, &parameters);
    text += &(array + &set);
    let insns = code.program().len().to_string();
    Ok(options.with_installer(text, &names, manner, &Installed::of(&parameters, &insns)))
}

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

impl TargetProgram<'_> {
    fn listing(&self, name: Option<String>) -> ListingOptions {
        ListingOptions { endian: self.target.endian(), arches: self.arches.clone(), name }
    }
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
    fn program(&self) -> &LongProgram {
        match self {
            TargetCode::Program(program) => program,
            TargetCode::Template(template) => template.program(),
        }
    }

    fn variables(&self) -> &[Variable] {
        match self {
            TargetCode::Program(_) => &[],
            TargetCode::Template(template) => template.variables(),
        }
    }
}

/// A program with the condition of its target.
struct Conditional<'p> {
    program: &'p TargetProgram<'p>,
    condition: String,
}

/// Programs for several targets as source code. `endian` and `arches` of the options are not used: each program has its own.
///
/// ```
/// use callgate::emit::{SourceLanguage, SourceOptions, TargetCode, TargetProgram, source_for_targets};
/// use callgate::{Arch, Filter};
///
/// let compile = |arch| Filter::builder(arch).allow(["read"])?.build()?.compile();
/// let programs = [(Arch::X86_64, compile(Arch::X86_64)?), (Arch::Aarch64, compile(Arch::Aarch64)?)];
/// let programs = programs.each_ref().map(|(target, program)| TargetProgram {
///     target: *target,
///     arches: vec![*target],
///     code: TargetCode::Program(program),
/// });
/// let text = source_for_targets(&programs, &SourceOptions::new(SourceLanguage::C))?;
/// assert!(text.contains("#elif defined(__aarch64__)"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`source`](super::source()); if the language has no such target, a target is given twice, or the programs have different
/// variables.
pub fn source_for_targets(
    programs: &[TargetProgram<'_>],
    options: &SourceOptions,
) -> Result<String, EmitError> {
    let first = programs.first().ok_or(EmitError(EmitErrorKind::NoTarget))?;
    let language = options.language;
    let mut all = Vec::new();
    for (nth, program) in programs.iter().enumerate() {
        let target = program.target;
        let unknown = EmitErrorKind::UnknownTarget { language, target };
        let condition = target_condition(language, target).ok_or(EmitError(unknown))?;
        if programs.iter().take(nth).any(|other| other.target == target) {
            return Err(EmitError(EmitErrorKind::TargetTwice(target)));
        }
        check_variables(first, program)?;
        all.push(Conditional { program, condition });
    }
    let has_variables = !first.code.variables().is_empty();
    let manner = options.manner(programs.iter().map(|program| &program.code))?;
    let names = options.names(has_variables, manner.listens)?;
    let parameters = Parameters::new(language, first.code.variables(), &names);
    match language {
        SourceLanguage::C => Ok(c(&all, options, &names, manner, &parameters)),
        SourceLanguage::Rust => Ok(rust(&all, options, &names, manner, &parameters)),
        SourceLanguage::Go => go(&all, options, manner, &parameters, has_variables),
    }
}

/// Fails if a program has other variables than the first, because one function takes them for all targets.
fn check_variables(
    first: &TargetProgram<'_>,
    program: &TargetProgram<'_>,
) -> Result<(), EmitError> {
    let (own, others) = (first.code.variables(), program.code.variables());
    if own == others {
        return Ok(());
    }
    let names = |variables: &[Variable]| -> Vec<String> {
        variables.iter().map(|variable| variable.name().to_owned()).collect()
    };
    let other = own.iter().zip(others).find(|(one, other)| one.bits() != other.bits());
    let (first, target) = (first.target, program.target);
    Err(EmitError(match other {
        Some((one, other)) if names(own) == names(others) => EmitErrorKind::OtherWidths {
            variable: one.name().to_owned(),
            first: (first, one.bits()),
            target: (target, other.bits()),
        },
        _ => EmitErrorKind::OtherVariables { first, target },
    }))
}

/// The array of a program, and the function that sets its variables; empty without variables.
fn parts(
    code: TargetCode<'_>,
    language: SourceLanguage,
    listing: &ListingOptions,
    names: &Names,
    parameters: &Parameters,
) -> (String, String) {
    let dialect = language.dialect();
    match code {
        TargetCode::Template(template) if !template.variables().is_empty() => (
            disassemble_template(template, dialect, listing),
            function(language, template, names, parameters),
        ),
        code => (disassemble(code.program(), dialect, listing), String::new()),
    }
}

fn c(
    all: &[Conditional<'_>],
    options: &SourceOptions,
    names: &Names,
    manner: Manner,
    parameters: &Parameters,
) -> String {
    let mut out = String::new();
    let mut directive = "#if";
    for Conditional { program, condition } in all {
        let listing = program.listing(options.name.clone());
        let (array, set) = parts(program.code, SourceLanguage::C, &listing, names, parameters);
        out += &format!("{directive} {condition}\n\n{array}{set}\n");
        directive = "#elif";
    }
    out += "#else\n#error \"there is no filter for this architecture\"\n#endif\n";
    let insns = format!("sizeof({0}) / sizeof({0}[0])", names.array);
    options.with_installer(out, names, manner, &Installed::of(parameters, &insns))
}

fn rust(
    all: &[Conditional<'_>],
    options: &SourceOptions,
    names: &Names,
    manner: Manner,
    parameters: &Parameters,
) -> String {
    let mut out = String::new();
    let name = options.name.as_ref().map(|name| name.to_uppercase());
    for Conditional { program, condition } in all {
        let listing = program.listing(name.clone());
        let (array, set) = parts(program.code, SourceLanguage::Rust, &listing, names, parameters);
        for item in [array, set].iter().filter(|item| !item.is_empty()) {
            out += &format!("#[cfg({condition})]\n{}\n", item.trim_start());
        }
    }
    let conditions: Vec<&str> = all.iter().map(|one| one.condition.as_str()).collect();
    out += &format!(
        "#[cfg(not(any({})))]\ncompile_error!(\"there is no filter for this architecture\");\n",
        conditions.join(", ")
    );
    options.with_installer(out, names, manner, &Installed::of(parameters, ""))
}

fn go(
    all: &[Conditional<'_>],
    options: &SourceOptions,
    manner: Manner,
    parameters: &Parameters,
    has_variables: bool,
) -> Result<String, EmitError> {
    let name = options.name.as_deref().unwrap_or("filter");
    let mut names = Names::new(SourceLanguage::Go, Some(name), has_variables, manner.listens);
    if !has_variables {
        names.function = name.to_owned();
    }
    let Names { function, .. } = &names;
    let mut out =
        installer::go_imports(options.package(), options.installer.then_some(manner.listens));
    let mut cases = String::new();
    let mut known = Vec::new();
    for Conditional { program, condition } in all {
        let mut letters = condition.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        let own: String = name.chars().chain(first).chain(letters).collect();
        let own_names = Names::new(SourceLanguage::Go, Some(&own), has_variables, manner.listens);
        own_names.check(SourceLanguage::Go)?;
        let listing = program.listing(Some(own.clone()));
        let (array, set) =
            parts(program.code, SourceLanguage::Go, &listing, &own_names, parameters);
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
    Ok(options.with_installer(out, &names, manner, &Installed::Set { parameters, insns: "" }))
}
