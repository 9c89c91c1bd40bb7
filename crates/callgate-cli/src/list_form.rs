//! That the other form of a list would be much shorter.

use callgate::convert::ListForm;
use callgate::explain::ArchExplanation;

/// The lengths of both forms, if the filter is a long list: `309 allowed syscalls, or 79 denied ones`.
pub(crate) fn lengths(arch: &ArchExplanation) -> Option<String> {
    let (form, lengths) = ListForm::lengths(arch)?;
    let other = form.other().name();
    Some(format!("{lengths} (callgate convert --list {other} --to LANGUAGE)"))
}
