//! That the other form of a list would be much shorter.

use callgate::convert::ListForm;
use callgate::explain::ArchExplanation;

/// The lengths of both forms, if the filter is a long list: `309 allowed syscalls, or 79 denied ones`.
pub(crate) fn lengths(arch: &ArchExplanation) -> Option<String> {
    let (form, [long, short]) = ListForm::much_longer(arch)?;
    let other = form.other().name();
    Some(format!(
        "{long} {} syscalls, or {short} {other} ones (callgate convert --list {other} --to LANGUAGE)",
        form.name()
    ))
}
