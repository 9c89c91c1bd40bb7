//! Pairs of operations of calls that become one: the last step, when all targets are places in the code.
//!
//! - a test of one half of an argument and of the other half, which is how filters compare 64 bits;
//! - the test of the arch and the table of numbers behind it, with which most filters begin.
//!
//! The second operation stays where it is, for those who jump to it.

use super::op::{Code, Op, Target, Test, Whole};

pub(super) fn join(code: &mut Code) {
    for at in 0..code.ops.len() {
        let joined = match code.ops.get(at) {
            Some(&Op::TestArch(test)) if test.mask == u32::MAX && test.span == 0 => {
                match code.operation(test.yes) {
                    Ok(&Op::DenseNr(dense)) => Some(Op::ArchDenseNr(test.lo, test.no, dense)),
                    _ => None,
                }
            }
            Some(&Op::TestArg(arg, shift, test)) => halves(code, arg, shift, &test),
            _ => None,
        };
        if let (Some(joined), Some(op)) = (joined, code.ops.get_mut(at)) {
            *op = joined;
        }
    }
}

/// A test as `half & mask == value`, where it goes on then, and otherwise.
fn equality(test: &Test) -> Option<(u32, u32, Target, Target)> {
    match (test.lo, test.span) {
        (value, 0) => Some((test.mask, value, test.yes, test.no)),
        // No bit of the mask is set.
        (1, span) if span == u32::MAX - 1 => Some((test.mask, 0, test.no, test.yes)),
        _ => None,
    }
}

fn halves(code: &Code, arg: u8, shift: u8, first: &Test) -> Option<Op> {
    let (mask, value, next, no) = equality(first)?;
    let Ok(&Op::TestArg(other, other_shift, second)) = code.operation(next) else { return None };
    let (other_mask, other_value, yes, other_no) = equality(&second)?;
    let fits = other == arg && other_shift != shift && other_no == no;
    if !fits || !forgets_a(code, yes) || !forgets_a(code, no) {
        return None;
    }
    let (mut mask, mut value) = ([mask, other_mask], [value, other_value]);
    if shift != 0 {
        mask.reverse();
        value.reverse();
    }
    Some(Op::TestWhole(Whole { mask, value, arg, yes, no }))
}

/// Whether what is at a place does not read A before it writes it.
fn forgets_a(code: &Code, at: Target) -> bool {
    match code.operation(at) {
        // A return of a value, or no place.
        Err(_) => true,
        Ok(op) => matches!(
            op,
            Op::Ret(_)
                | Op::LoadNr
                | Op::LoadArch
                | Op::LoadArg(..)
                | Op::LoadIp(_)
                | Op::TestNr(_)
                | Op::TestArch(_)
                | Op::TestArg(..)
                | Op::DenseNr(_)
                | Op::ArchDenseNr(..)
                | Op::Imm(_)
                | Op::Mem(_)
        ),
    }
}
