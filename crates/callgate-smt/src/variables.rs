//! Variables, whose values the solver chooses, and the error of the translation.

use callgate_core::template::{Half, Symbol, Variable};

use crate::writer::{Writer, long};

/// Why filters are not translated: two of them have a variable of the same name with different widths, or, a defect of this
/// project, a program contains an instruction that seccomp does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untranslatable(String);

impl Untranslatable {
    pub(crate) fn instruction(at: usize) -> Untranslatable {
        let message = "cannot be translated to SMT-LIB (a defect of callgate)";
        Untranslatable(format!("instruction {at} {message}"))
    }
}

impl std::fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Untranslatable {}

/// Declares variables as values of 64 bits.
///
/// # Errors
/// If two variables have one name, but different widths. 32 bits would limit the values of the wider one, and 64 bits would
/// give values to the narrower one that its program was not made for.
pub(crate) fn declare<'v>(
    writer: &mut Writer,
    variables: impl IntoIterator<Item = &'v Variable>,
) -> Result<(), Untranslatable> {
    let mut declared: Vec<&Variable> = Vec::new();
    for variable in variables {
        let name = variable.name();
        if let Some(known) = declared.iter().find(|known| known.name() == name) {
            if known.is_wide() == variable.is_wide() {
                continue;
            }
            return Err(Untranslatable(format!(
                "the variable `{name}` has 32 bits in one filter and 64 bits in another, so the filters cannot be \
                 compared for all of its values; rename one of them"
            )));
        }
        if declared.is_empty() {
            writer.comment("Variables, which are set when the filter is installed");
        }
        declared.push(variable);
        if variable.is_wide() {
            writer.line(&format!("(declare-const ${name} (_ BitVec 64))"));
        } else {
            writer.line(&format!("(declare-const ${name}.low (_ BitVec 32))"));
            let wide = format!("((_ zero_extend 32) ${name}.low)");
            writer.define(&format!("${name}"), "(_ BitVec 64)", &wide, "");
        }
    }
    Ok(())
}

/// The term of a symbol, 64 bits.
pub(crate) fn symbol(symbol: Symbol, variables: &[Variable]) -> String {
    let name = variables.get(symbol.variable()).map_or("undeclared", Variable::name);
    let sum = match symbol.addend() {
        0 => format!("${name}"),
        addend => format!("(bvadd ${name} {})", long(addend)),
    };
    if symbol.is_complement() { format!("(bvnot {sum})") } else { sum }
}

/// The term of half of a symbol.
pub(crate) fn half(of: Symbol, half: Half, variables: &[Variable]) -> String {
    let bits = match half {
        Half::Low => "31 0",
        Half::High => "63 32",
    };
    format!("((_ extract {bits}) {})", symbol(of, variables))
}
