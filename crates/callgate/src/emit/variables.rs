//! Functions that set the variables of a program.

use super::language::SourceLanguage;
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
    pub(super) fn new(
        language: SourceLanguage,
        variables: &[Variable],
        names: &Names,
    ) -> Parameters {
        let used = [names.array.as_str(), &names.function];
        let parameters = parameters(language, variables, &used);
        let declared: Vec<String> = parameters
            .iter()
            .zip(variables)
            .map(|(name, variable)| match (language, variable.is_wide()) {
                (SourceLanguage::C, false) => format!("uint32_t {name}"),
                (SourceLanguage::C, true) => format!("uint64_t {name}"),
                (SourceLanguage::Rust, false) => format!("{name}: u32"),
                (SourceLanguage::Rust, true) => format!("{name}: u64"),
                (SourceLanguage::Go, false) => format!("{name} uint32"),
                (SourceLanguage::Go, true) => format!("{name} uint64"),
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
    fn expression(&self, language: SourceLanguage, template: &Template, patch: &Patch) -> String {
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
            (SourceLanguage::C, false) => format!("((uint64_t){name})"),
            (SourceLanguage::Rust, false) => format!("({name} as u64)"),
            (SourceLanguage::Go, false) => format!("uint64({name})"),
        };
        let sum = match (language, addend) {
            (_, 0) => wide,
            (SourceLanguage::C, _) => format!("({wide} + {addend:#x}ULL)"),
            (SourceLanguage::Rust, _) => format!("{wide}.wrapping_add({addend:#x})"),
            (SourceLanguage::Go, _) => format!("({wide} + {addend:#x})"),
        };
        let value = match (language, is_complement) {
            (_, false) => sum,
            (SourceLanguage::C, true) => format!("(~{sum})"),
            (SourceLanguage::Rust, true) => format!("(!{sum})"),
            (SourceLanguage::Go, true) => format!("(^{sum})"),
        };
        match (language, patch.half) {
            (SourceLanguage::C, Half::Low) => format!("(uint32_t){value}"),
            (SourceLanguage::C, Half::High) => format!("(uint32_t)({value} >> 32)"),
            (SourceLanguage::Rust, Half::Low) => format!("{value} as u32"),
            (SourceLanguage::Rust, Half::High) => format!("({value} >> 32) as u32"),
            (SourceLanguage::Go, Half::Low) => match value.strip_prefix('(') {
                Some(_) => format!("uint32{value}"),
                None => format!("uint32({value})"),
            },
            (SourceLanguage::Go, Half::High) => format!("uint32({value} >> 32)"),
        }
    }
}

/// The function that sets the variables.
pub(super) fn function(
    language: SourceLanguage,
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
        SourceLanguage::C => {
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
        SourceLanguage::Rust => {
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
        SourceLanguage::Go => {
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
