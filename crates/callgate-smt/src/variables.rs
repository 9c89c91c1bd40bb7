//! Variables, whose values the solver chooses.

use callgate_core::template::{Half, Symbol, Variable};

use crate::error::Untranslatable;
use crate::writer::{Writer, long};

/// Declares variables as values of 64 bits.
///
/// # Errors
/// If two variables have one name, but different widths: as 32 bits the values of the wider one were limited, and as 64 bits
/// the program of the narrower one would get values for which it is not made.
pub(crate) fn declare<'v>(
    writer: &mut Writer,
    variables: impl IntoIterator<Item = &'v Variable>,
) -> Result<(), Untranslatable> {
    let mut declared: Vec<&Variable> = Vec::new();
    for variable in variables {
        let name = variable.name();
        if let Some(known) = declared.iter().find(|known| known.name() == name) {
            match known.is_wide() == variable.is_wide() {
                true => continue,
                false => return Err(Untranslatable::widths(name)),
            }
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
