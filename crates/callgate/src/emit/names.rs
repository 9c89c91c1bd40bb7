//! The names in emitted source code.

use super::language::Language;
use callgate_bpf::template::Variable;

/// The names of an array and of the functions around it.
pub(super) struct Names {
    /// The array; for a program with variables, the one that has no values yet.
    pub(super) array: String,
    /// The function that returns or sets the program for the values of variables.
    pub(super) function: String,
    /// The function that installs the filter.
    pub(super) installer: String,
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
                program: given.map_or("program".to_owned(), |name| format!("{name}_program")),
            },
            Language::Rust => Names {
                array: format!("{}{}", name.to_uppercase(), template("_TEMPLATE")),
                function: name.to_lowercase(),
                installer: format!("install_{}", name.to_lowercase()),
                program: String::new(),
            },
            Language::Go => {
                let mut letters = name.chars();
                let (first, rest) = (letters.next().unwrap_or('f'), letters.as_str());
                // Exported if the array is.
                let install = if first.is_uppercase() { "Install" } else { "install" };
                Names {
                    array: format!("{name}{}", template("Template")),
                    function: format!("{name}For"),
                    installer: format!("{install}{}{rest}", first.to_uppercase()),
                    program: String::new(),
                }
            }
        }
    }
}

/// The names of parameters, one for each variable: its own, unless the language or the function uses it.
pub(super) fn parameters(language: Language, variables: &[Variable], used: &[&str]) -> Vec<String> {
    let is_taken = |name: &str| language.reserved().contains(&name) || used.contains(&name);
    let mut names: Vec<String> = Vec::new();
    for variable in variables {
        let mut name = variable.name().to_owned();
        let is_other = |name: &str| {
            variables.iter().any(|other| other.name() == name && other.name() != variable.name())
        };
        while is_taken(&name) || names.contains(&name) || is_other(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}
