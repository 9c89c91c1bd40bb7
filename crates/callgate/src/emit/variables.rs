//! Functions that set the variables of a program.

use super::language::Language;
use super::names::{Names, parameters};
use callgate_core::template::{Half, Patch, Template, Variable};

/// The parameters of a function, and the arguments with which another function passes them on.
pub(super) struct Parameters {
    /// `uint32_t fd, uint64_t limit`.
    pub(super) declared: String,
    each_declared: Vec<String>,
    /// `fd, limit`.
    pub(super) passed: String,
    names: Vec<String>,
}

impl Parameters {
    pub(super) fn new(language: Language, variables: &[Variable], names: &Names) -> Parameters {
        let used = [names.array.as_str(), &names.function];
        let parameters = parameters(language, variables, &used);
        let declared: Vec<String> = parameters
            .iter()
            .zip(variables)
            .map(|(name, variable)| match (language, variable.is_wide()) {
                (Language::C, false) => format!("uint32_t {name}"),
                (Language::C, true) => format!("uint64_t {name}"),
                (Language::Rust, false) => format!("{name}: u32"),
                (Language::Rust, true) => format!("{name}: u64"),
                (Language::Go, false) => format!("{name} uint32"),
                (Language::Go, true) => format!("{name} uint64"),
            })
            .collect();
        Parameters {
            declared: declared.join(", "),
            passed: parameters.join(", "),
            names: parameters,
            each_declared: declared,
        }
    }

    /// Each as it is declared, and as it is passed on.
    pub(super) fn each(self) -> Vec<(String, String)> {
        self.each_declared.into_iter().zip(self.names).collect()
    }

    /// The constant of a patch as an expression.
    fn expression(&self, language: Language, template: &Template, patch: &Patch) -> String {
        let index = patch.symbol.variable();
        let name = self.names.get(index).map_or("", String::as_str);
        let is_wide = template.variables().get(index).is_some_and(|variable| variable.is_wide());
        let (addend, is_complement) = (patch.symbol.addend(), patch.symbol.is_complement());
        if !is_wide && addend == 0 && !is_complement {
            // The high half of such a symbol is a constant, which needs no patch.
            return name.to_owned();
        }
        // Each part is an operand: a name, a call, or in parentheses.
        let wide = match (language, is_wide) {
            (_, true) => name.to_owned(),
            (Language::C, false) => format!("((uint64_t){name})"),
            (Language::Rust, false) => format!("({name} as u64)"),
            (Language::Go, false) => format!("uint64({name})"),
        };
        let sum = match (language, addend) {
            (_, 0) => wide,
            (Language::C, _) => format!("({wide} + {addend:#x}ULL)"),
            (Language::Rust, _) => format!("{wide}.wrapping_add({addend:#x})"),
            (Language::Go, _) => format!("({wide} + {addend:#x})"),
        };
        let value = match (language, is_complement) {
            (_, false) => sum,
            (Language::C, true) => format!("(~{sum})"),
            (Language::Rust, true) => format!("(!{sum})"),
            (Language::Go, true) => format!("(^{sum})"),
        };
        match (language, patch.half) {
            (Language::C, Half::Low) => format!("(uint32_t){value}"),
            (Language::C, Half::High) => format!("(uint32_t)({value} >> 32)"),
            (Language::Rust, Half::Low) => format!("{value} as u32"),
            (Language::Rust, Half::High) => format!("({value} >> 32) as u32"),
            (Language::Go, Half::Low) => match value.strip_prefix('(') {
                Some(_) => format!("uint32{value}"),
                None => format!("uint32({value})"),
            },
            (Language::Go, Half::High) => format!("uint32({value} >> 32)"),
        }
    }
}

/// The function that sets the variables.
pub(super) fn function(
    language: Language,
    template: &Template,
    names: &Names,
    parameters: &Parameters,
) -> String {
    let len = template.program().len();
    let Names { array, function, .. } = names;
    let declared = &parameters.declared;
    let assignments: Vec<(usize, String)> = template
        .patches()
        .iter()
        .map(|patch| (patch.insn, parameters.expression(language, template, patch)))
        .collect();
    let lines = |line: &dyn Fn(usize, &str) -> String| -> String {
        assignments.iter().map(|(insn, value)| line(*insn, value)).collect()
    };
    match language {
        Language::C => {
            let lines = lines(&|insn, value| format!("\tinsns[{insn}].k = {value};\n"));
            format!(
                "
#include <stdint.h>
#include <string.h>

/* clang-format off */
/* Sets the program for these values of its variables. */
static inline void {function}(struct sock_filter insns[{len}], {declared})
{{
\tmemcpy(insns, {array}, sizeof({array}));
{lines}}}
/* clang-format on */
"
            )
        }
        Language::Rust => {
            let lines = lines(&|insn, value| format!("    insns[{insn}].k = {value};\n"));
            format!(
                "
/// The program for these values of its variables.
#[rustfmt::skip]
#[must_use]
pub const fn {function}({declared}) -> [libc::sock_filter; {len}] {{
    let mut insns = {array};
{lines}    insns
}}
"
            )
        }
        Language::Go => {
            let lines = lines(&|insn, value| format!("\tinsns[{insn}].K = {value}\n"));
            format!(
                "
// {function} returns the program for these values of its variables.
func {function}({declared}) []unix.SockFilter {{
\tinsns := {array}
{lines}\treturn insns[:]
}}
"
            )
        }
    }
}
