//! Fusion of pairs of operations, after target resolution:
//!
//! - tests of both halves of an argument, with which filters compare 64 bits;
//! - the test of the arch and the jump table of syscall numbers after it, with which most filters begin;
//! - the length of a payload and its store, and the length of a header and its comparison with the stored
//!   value, with which filters find packets that carry data.
//!
//! The second operation stays, because it may be a jump target.

use super::op::{Code, Op, Test, Whole};
use super::target::Target;

pub(super) fn join(code: &mut Code) {
    for at in 0..code.ops.len() {
        let behind = code.ops.get(at + 1).copied();
        let joined = match (code.ops.get(at).copied(), behind) {
            (Some(Op::TestArch(test)), _) if test.mask == u32::MAX && test.span == 0 => {
                match code.operation(test.yes.into()) {
                    Some(&Op::DenseNr(dense)) => Some(Op::ArchDenseNr(test.lo, test.no, dense)),
                    _ => None,
                }
            }
            (Some(Op::TestArg(arg, shift, test)), _) => halves(code, arg, shift, &test),
            (Some(Op::HalfMinusX(k)), Some(Op::Store(word))) => Some(Op::KeepHalfMinusX(k, word)),
            (Some(Op::IndexedFieldByte(k, field)), Some(Op::SwapEqX(word, yes, no))) => {
                Some(Op::IndexedFieldEq(k, field, word, yes, no))
            }
            _ => None,
        };
        if let (Some(joined), Some(op)) = (joined, code.ops.get_mut(at)) {
            *op = joined;
        }
    }
}

/// A test as `half & mask == value`, and its targets if that holds and otherwise.
fn equality(test: &Test) -> Option<(u32, u32, Target, Target)> {
    match (test.lo, test.span) {
        (value, 0) => Some((test.mask, value, test.yes, test.no)),
        // `half & mask != 0`, with the targets swapped.
        (1, span) if span == u32::MAX - 1 => Some((test.mask, 0, test.no, test.yes)),
        _ => None,
    }
}

fn halves(code: &Code, arg: u8, shift: u8, first: &Test) -> Option<Op> {
    let (mask, value, next, no) = equality(first)?;
    let Some(&Op::TestArg(other, other_shift, second)) = code.operation(next.into()) else {
        return None;
    };
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

/// Whether A is dead before the operation at a place.
fn forgets_a(code: &Code, at: Target) -> bool {
    match code.operation(at.into()) {
        // A return of a constant.
        None => true,
        Some(op) => matches!(
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
