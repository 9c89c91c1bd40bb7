//! Source code of a program.

use super::error::{EmitError, EmitErrorKind};
use super::installer::{self, Installed};
use super::language::Language;
use super::names::{Names, check_package, check_word};
use super::variables::{Parameters, function};
use crate::listener::needs_listener;
use callgate_bpf::FilterFlags;
use callgate_bpf::disasm::{ListingOptions, disassemble, disassemble_template};
use callgate_core::template::Template;
use callgate_core::{Arch, Endian, LongProgram};

/// How a program becomes source code.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceOptions {
    /// The language.
    pub language: Language,
    /// The name of the array and, with a prefix or suffix, of functions: an identifier. `None`: `filter`.
    pub name: Option<String>,
    /// The package of a Go file with an installer. `None`: `main`.
    pub package: Option<String>,
    /// Whether there are functions that install the filter: in all threads of the process, in the calling thread, and with
    /// other flags. They cannot install filters that notify a listener.
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
    pub fn new(language: Language) -> SourceOptions {
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
            Language::Rust => name.to_uppercase(),
            Language::C | Language::Go => name.clone(),
        });
        ListingOptions { endian: self.endian, arches: self.arches.clone(), name }
    }

    /// The names, checked; in Go, also that of the package.
    pub(super) fn names(&self, has_variables: bool) -> Result<Names, EmitError> {
        if let Some(name) = &self.name {
            check_word(name)?;
        }
        let names = Names::new(self.language, self.name.as_deref(), has_variables);
        names.check(self.language)?;
        if self.language == Language::Go {
            check_package(self.package())?;
        }
        Ok(names)
    }

    /// Fails if an installer is wanted that could not work for this program.
    pub(super) fn check_installer(&self, program: &LongProgram) -> Result<(), EmitError> {
        if !self.installer {
            return Ok(());
        }
        if self.flags.contains(FilterFlags::WAIT_KILLABLE_RECV) {
            return Err(EmitError(EmitErrorKind::WaitKillable));
        }
        match needs_listener(program.insns()) {
            true => Err(EmitError(EmitErrorKind::Notifies)),
            false => Ok(()),
        }
    }

    /// The parts of a file, with the installer if there is one.
    fn file(&self, code: String, names: &Names, installed: &Installed<'_>) -> String {
        if !self.installer {
            return code;
        }
        let installer = installer::function(self.language, names, self.flags, installed);
        match self.language {
            Language::C => installer::guarded(names, &(code + &installer)),
            Language::Rust => code + &installer,
            Language::Go => installer::go_imports(self.package(), true) + &code + &installer,
        }
    }
}

/// A program as source code.
///
/// # Errors
/// If the language reserves a name, or an installer could not work: the filter notifies a listener.
pub fn source(program: &LongProgram, options: &SourceOptions) -> Result<String, EmitError> {
    let names = options.names(false)?;
    options.check_installer(program)?;
    let code = disassemble(program, options.language.dialect(), &options.listing());
    Ok(options.file(code, &names, &Installed::Array))
}

/// A program with variables as source code: an array, and a function whose parameters are the variables. Without variables, as
/// [`source`].
///
/// # Errors
/// As [`source`].
pub fn template_source(template: &Template, options: &SourceOptions) -> Result<String, EmitError> {
    if template.variables().is_empty() {
        return source(template.program(), options);
    }
    let (language, names) = (options.language, options.names(true)?);
    options.check_installer(template.program())?;
    let parameters = Parameters::new(language, template.variables(), &names);
    let mut code = disassemble_template(template, language.dialect(), &options.listing());
    code += &function(language, template, &names, &parameters);
    let insns = template.program().len().to_string();
    Ok(options.file(code, &names, &Installed::Set { parameters: &parameters, insns: &insns }))
}
