//! The names in emitted source code.

use super::error::{EmitError, EmitErrorKind};
use super::language::Language;
use super::reserved::{LOCALS, is_keyword_of_go, is_taken, may_be_macro, reserved};
use callgate_core::template::Variable;

/// The names of an array and of the functions around it.
pub(super) struct Names {
    /// The array; for a program with variables, the one that has no values yet.
    pub(super) array: String,
    /// The function that returns or sets the program for the values of variables.
    pub(super) function: String,
    /// The function that installs the filter in all threads.
    pub(super) installer: String,
    /// The function that installs it in the calling thread.
    pub(super) in_thread: String,
    /// The function that takes the flags.
    pub(super) with_flags: String,
    /// In C, the structure that points to the array.
    pub(super) program: String,
}

impl Names {
    /// The names for the given one, in the style of the language.
    pub(super) fn new(language: Language, given: Option<&str>, has_variables: bool) -> Names {
        let name = given.unwrap_or("filter");
        let template = |suffix: &str| if has_variables { suffix.to_owned() } else { String::new() };
        match language {
            Language::C => Names {
                array: format!("{name}{}", template("_template")),
                function: format!("{name}_set"),
                installer: format!("install_{name}"),
                in_thread: format!("install_{name}_in_thread"),
                with_flags: format!("install_{name}_with"),
                program: given.map_or("program".to_owned(), |name| format!("{name}_program")),
            },
            Language::Rust => Names {
                array: format!("{}{}", name.to_uppercase(), template("_TEMPLATE")),
                function: name.to_lowercase(),
                installer: format!("install_{}", name.to_lowercase()),
                in_thread: format!("install_{}_in_thread", name.to_lowercase()),
                with_flags: format!("install_{}_with", name.to_lowercase()),
                program: String::new(),
            },
            Language::Go => {
                let mut letters = name.chars();
                let (first, rest) = (letters.next().unwrap_or('f'), letters.as_str());
                // Exported if the array is.
                let install = if first.is_uppercase() { "Install" } else { "install" };
                let installer = format!("{install}{}{rest}", first.to_uppercase());
                Names {
                    array: format!("{name}{}", template("Template")),
                    function: format!("{name}For"),
                    in_thread: format!("{installer}InThread"),
                    with_flags: format!("{installer}With"),
                    installer,
                    program: String::new(),
                }
            }
        }
    }

    /// Fails if a name is not one of the language.
    pub(super) fn check(&self, language: Language) -> Result<(), EmitError> {
        let Names { array, function, installer, in_thread, with_flags, program } = self;
        let names = [array, function, installer, in_thread, with_flags, program].into_iter();
        names.filter(|name| !name.is_empty()).try_for_each(|name| check(language, name))
    }
}

/// Fails if a word cannot be the name of an item.
pub(super) fn check(language: Language, name: &str) -> Result<(), EmitError> {
    check_word(name)?;
    if is_taken(language, name) {
        let name = name.to_owned();
        return Err(EmitError(EmitErrorKind::Reserved { name, language }));
    }
    Ok(())
}

/// Fails if a word cannot be the name of a package of Go.
pub(super) fn check_package(name: &str) -> Result<(), EmitError> {
    check_word(name)?;
    // The other words that are taken are names of packages, or predeclared.
    if is_keyword_of_go(name) {
        let (name, language) = (name.to_owned(), Language::Go);
        return Err(EmitError(EmitErrorKind::Reserved { name, language }));
    }
    Ok(())
}

/// Fails if a word has other characters than ASCII letters, digits and `_`, begins with a digit, or is empty.
pub(super) fn check_word(name: &str) -> Result<(), EmitError> {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_word && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        true => Ok(()),
        false => Err(EmitError(EmitErrorKind::NotAWord { name: name.to_owned() })),
    }
}

/// The names of parameters, one for each variable: its own, or one with a prefix if the language or the function uses it.
/// No language uses a word with this prefix.
pub(super) fn parameters(language: Language, variables: &[Variable], used: &[&str]) -> Vec<String> {
    let is_taken = |name: &str| {
        reserved(language).contains(&name)
            || LOCALS.contains(&name)
            || used.contains(&name)
            || may_be_macro(language, name)
    };
    let mut names: Vec<String> = Vec::new();
    for variable in variables {
        let mut name = variable.name().to_owned();
        let is_other = |name: &str| {
            variables.iter().any(|other| other.name() == name && other.name() != variable.name())
        };
        while is_taken(&name) || names.contains(&name) || is_other(&name) {
            name.insert_str(0, "var_");
        }
        names.push(name);
    }
    names
}
