//! Sources that combine others, and the operands of the commands `union`, `intersect` and `subtract`, which are the same. A file
//! with the name of a syscall is written with `./`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use callgate::sets::Operation;
use callgate_requests::source::{Combination, Expression, SourceFilter, Terms, is_expression};

use super::filter::WORDING;
use crate::report::{self, Failure, Result};

/// Parses a source of a combination.
type Parse<S> = fn(&OsStr) -> Result<S>;

/// Operands as they were given; those of a text are in it.
struct Operands<'o, S>(&'o [OsString], Parse<S>);

impl<S> Terms<S, Failure> for Operands<'_, S> {
    fn source(&mut self, index: usize, name: &str) -> Result<S> {
        (self.1)(self.0.get(index).map_or(OsStr::new(name), OsString::as_os_str))
    }

    fn is_source(&self, name: &str) -> bool {
        Path::new(name).exists()
    }
}

/// Parses a text with operators between blanks; `None` if it has none, or is the name of a file.
pub(super) fn detect<S>(text: &OsStr, parse: Parse<S>) -> Option<Result<Expression<S>>> {
    let text = text.to_str().filter(|text| is_expression(text) && !Path::new(text).exists())?;
    Some(Expression::parse(text, &mut Operands(&[], parse)))
}

/// The combination of operands with one operation.
pub(super) fn of_operands<S>(
    operation: Operation,
    operands: &[OsString],
    parse: Parse<S>,
) -> Result<Expression<S>> {
    let names = operands.iter().map(|operand| operand.to_string_lossy().into_owned()).collect();
    Expression::of_operands(operation, names, &mut Operands(operands, parse))
}

/// Reads the sources and combines them.
pub(super) fn combine<S>(
    expression: &Expression<S>,
    read: impl Fn(&S) -> Result<SourceFilter>,
) -> Result<Combination> {
    expression.combine(WORDING, &mut |source| read(source))
}

/// The combination as a program, with the flags and the weights of the first filter. Prints warnings.
pub(super) fn to_filter(combination: Combination) -> Result<SourceFilter> {
    Ok(report::warning(|warnings| combination.into_filter(warnings))?)
}
