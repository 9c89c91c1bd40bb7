//! Warnings about comparisons with numbers of more than 32 bits.
//!
//! Kafel compares 64 bits if a number has more than 32, also if the arguments have 32. A negative number has 64. Then:
//!
//! - on architectures with 32-bit registers, the high half of an argument is 0, so the numbers alone may decide;
//! - elsewhere, the kernel ignores the high half of such an argument, but the filter does not.

use std::cmp::Ordering;

use super::word::Word;
use callgate_core::Arch;
use callgate_core::policy::Cmp;

/// The message about a comparison and what to do; `None` if there is nothing to report.
pub(super) fn width_warning(
    arch: Arch,
    left: &Word,
    cmp: Cmp,
    right: &Word,
) -> Option<(String, String)> {
    if matches!((left, right), (Word::Number(_), Word::Number(_))) {
        return None;
    }
    let number = left.wide_number().or(right.wide_number())?;
    let message = if !arch.has_wide_registers() {
        let order = left.high_half().cmp(&right.high_half());
        let always = if decided(cmp, order)? { "true" } else { "false" };
        format!(
            "{number:#x} has more than the 32 bits of registers on {arch}, so that this comparison is always {always}"
        )
    } else if left.has_wide_argument() || right.has_wide_argument() {
        return None;
    } else {
        format!(
            "{number:#x} has more than the 32 bits of the argument, so that Kafel compares all 64 bits of the register"
        )
    };
    Some((message, help(arch, left, cmp, right, number)))
}

/// The result of a comparison if the high halves decide it.
fn decided(cmp: Cmp, high: Ordering) -> Option<bool> {
    if high == Ordering::Equal {
        return None;
    }
    Some(match cmp {
        Cmp::Eq => false,
        Cmp::Ne => true,
        Cmp::Lt | Cmp::Le => high == Ordering::Less,
        Cmp::Gt | Cmp::Ge => high == Ordering::Greater,
    })
}

fn help(arch: Arch, left: &Word, cmp: Cmp, right: &Word, number: u64) -> String {
    let why = if arch.has_wide_registers() {
        "the kernel ignores the high half"
    } else {
        "registers have no high half"
    };
    let is_equality = matches!(cmp, Cmp::Eq | Cmp::Ne);
    let is_only_one = left.wide_number().is_none() || right.wide_number().is_none();
    match i32::try_from(number as i64) {
        // Without the copies of its sign, the number is the one that the kernel sees.
        Ok(low) if is_equality && is_only_one => format!("write {low:#x}: {why}"),
        Ok(low) if is_only_one => {
            format!("comparisons are unsigned; write {low:#x} if that is meant: {why}")
        }
        _ => format!("use numbers with at most 32 bits: {why}"),
    }
}
