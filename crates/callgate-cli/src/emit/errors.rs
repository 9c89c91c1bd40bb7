//! Errors about programs that cannot be written in the wanted form.

use callgate::emit::EmitError;
use callgate_core::template::Template;

use crate::report::Failure;

/// The error for a form that needs values.
pub(super) fn without_values(template: &Template) -> Failure {
    let names: Vec<&str> = template.variables().iter().map(|variable| variable.name()).collect();
    let example = names.first().copied().unwrap_or("name");
    Failure::new(format!("the variables ${} have no values", names.join(", $"))).help(format!(
        "give their values (--set {example}=1), or write source code that takes them: --emit c, rust or go"
    ))
}

/// The message for a program without source code.
pub(super) fn not_emitted(error: &EmitError) -> Failure {
    Failure::new(error.to_string()).help(error.help())
}
