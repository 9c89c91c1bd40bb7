//! What aarch64 instructions do to registers and memory. Of instructions other than the known forms, only the registers
//! that they write matter.
//!
//! Comparisons: a subtraction sets the carry to the inverse of the carry on x86-64. The conditions that test it are inverse as
//! well, so each condition means the same relation as on x86-64.

use super::aarch64_form::{Access, Altered, Form, SP, bits, form, mask, reg};
use super::insn::{
    Against, BinaryOp, Callee, Compared, Comparison, Condition, Effect, Flow, Insn, Part, Place,
    Source, Test, Through,
};

/// Registers that a call may change: x0 to x18 and x30.
const CALL_CLOBBERED: u32 = 0x4007_ffff;

/// The registers that an instruction writes, as a set of bits.
pub(super) fn written(form: &Form, word: u32) -> u32 {
    let bit = |register: u8| 1_u32.checked_shl(register.into()).unwrap_or(0);
    let back = |access: Access| if access.writeback { bit(access.base) } else { 0 };
    // Register 31 is the zero register for most instructions.
    let plain = |register: u8| bit(register) & !(1 << SP);
    match *form {
        Form::Page { to, .. }
        | Form::Address { to, .. }
        | Form::Set { to, .. }
        | Form::Insert { to, .. }
        | Form::Move { to, .. }
        | Form::Select { to, .. }
        | Form::LoadLiteral { to, .. } => plain(to),
        Form::AddImmediate { to, .. } | Form::Logic { to, .. } => bit(to),
        Form::Load { to, access, .. } => plain(to) | back(access),
        Form::LoadPair { first, second, access } => plain(first) | plain(second) | back(access),
        Form::Store { access, .. } => back(access),
        Form::Call(_) | Form::CallRegister(_) => CALL_CLOBBERED,
        Form::Syscall => 1,
        Form::Other => other_writes(word),
        Form::Nop
        | Form::Branch(_)
        | Form::BranchIf(_)
        | Form::BranchRegister(_)
        | Form::Return
        | Form::Trap => 0,
    }
}

/// The registers that other instructions may write.
fn other_writes(word: u32) -> u32 {
    let to = 1 << bits(word, 0, 5);
    let base = 1 << bits(word, 5, 5);
    match bits(word, 25, 4) {
        _ if only_compares(word) => 0,
        // Scalar floating point to integer; UMOV and SMOV.
        0b0111 | 0b1111 => {
            let converts = word & 0x5f20_fc00 == 0x1e20_0000;
            let moves = matches!(word & 0xbfe0_fc00, 0x0e00_3c00 | 0x0e00_2c00);
            if converts || moves { to } else { 0 }
        }
        // Of the loads and stores of vectors that are not decoded, only post-indexed ones of structures change their base.
        0b0100 | 0b0110 | 0b1100 | 0b1110 if bits(word, 26, 1) == 1 => {
            if word & 0xbe80_0000 == 0x0c80_0000 { base } else { 0 }
        }
        // Loads and stores, exclusive ones (with a result), and atomics: one, two or three registers, and the base.
        0b0100 | 0b0110 | 0b1100 | 0b1110 => {
            let all = to | 1 << bits(word, 10, 5) | 1 << bits(word, 16, 5) | second_of_pair(word);
            let written = all & !(1 << SP);
            if keeps_base(word) { written } else { written | base }
        }
        // Memory of SVE.
        0b0010 if word >> 31 == 1 => 0,
        _ if writes_stack(word) => 1 << SP,
        _ => to & !(1 << SP),
    }
}

/// Whether a load or a store does not change its base: with an index, exclusive or ordered ones, atomics, of a literal, and those
/// with an offset that is not scaled.
fn keeps_base(word: u32) -> bool {
    word & 0x3f00_0000 == 0x0800_0000
        || matches!(word & 0x3b20_0c00, 0x3820_0800 | 0x3820_0000 | 0x1900_0000)
        || word & 0x3b00_0000 == 0x1800_0000
}

/// The second register of the pair that CASP loads and compares.
fn second_of_pair(word: u32) -> u32 {
    let is_pair = word & 0xbfa0_7c00 == 0x0820_7c00;
    if is_pair { 1_u32.checked_shl(bits(word, 16, 5) + 1).unwrap_or(0) } else { 0 }
}

/// Whether an instruction that is not decoded computes the stack pointer: ADD and SUB of an extended register, as for alloca(3),
/// ADDVL and ADDPL.
fn writes_stack(word: u32) -> bool {
    let computes = word & 0x3fe0_0000 == 0x0b20_0000 || word & 0xffa0_f800 == 0x0420_5000;
    computes && bits(word, 0, 5) == u32::from(SP)
}

/// Whether an instruction only sets flags: CMP, CMN and TST, which are additions, subtractions and AND into the zero register,
/// CCMP and CCMN.
fn only_compares(word: u32) -> bool {
    let sets_flags = word & 0x3f00_0000 == 0x3100_0000
        || word & 0x7f80_0000 == 0x7200_0000
        || word & 0x3f00_0000 == 0x2b00_0000
        || word & 0x7f00_0000 == 0x6a00_0000;
    let is_conditional = word & 0x3fe0_0410 == 0x3a40_0000;
    is_conditional || sets_flags && bits(word, 0, 5) == u32::from(SP)
}

/// The registers that other instructions may read, but for the base of loads and stores.
fn other_reads(word: u32) -> u32 {
    // An instruction that only sets flags passes no address on.
    if only_compares(word) {
        return 0;
    }
    let fields: &[u32] = match (bits(word, 25, 4), bits(word, 23, 3)) {
        // The other fields are constants. Bit-field moves keep a part of their destination; EXTR has two operands.
        (0b1000 | 0b1001, 6) => &[0, 5],
        (0b1000 | 0b1001, 7) => &[5, 16],
        (0b1000 | 0b1001, _) => &[5],
        (0b0100 | 0b0110 | 0b1100 | 0b1110, _) => &[0, 10, 16],
        _ => &[0, 5, 10, 16],
    };
    // Register 31 is the zero register, but for the first operand of an addition of a constant or an extended register, and of
    // IRG; for the operand of ADDVL and ADDPL; and for a base that changes.
    let is_stack = |low| bits(word, low, 5) == u32::from(SP);
    let may_be_stack = word & 0x1f00_0000 == 0x1100_0000
        || word & 0x1fe0_0000 == 0x0b20_0000
        || word & 0xffe0_fc00 == 0x9ac0_1000
        || is_memory(word) && !keeps_base(word);
    let reads = fields.iter().fold(0, |reads, low| reads | 1 << bits(word, *low, 5));
    let uses_stack =
        may_be_stack && is_stack(5) || word & 0xffa0_f800 == 0x0420_5000 && is_stack(16);
    // A base that changes is computed anew.
    let changed = if is_memory(word) { other_writes(word) & 1 << bits(word, 5, 5) } else { 0 };
    (reads | changed) & !(1 << SP) | second_of_pair(word) | u32::from(uses_stack) << SP
}

/// Whether an instruction that is not decoded reads or writes memory: loads and stores, those of SVE, and DC ZVA.
fn is_memory(word: u32) -> bool {
    match bits(word, 25, 4) {
        0b0100 | 0b0110 | 0b1100 | 0b1110 => true,
        0b0010 => word >> 31 == 1,
        _ => is_clearing(word),
    }
}

/// DC ZVA, which clears a block of memory.
fn is_clearing(word: u32) -> bool {
    word & 0xffff_ffe0 == 0xd50b_7420
}

/// An instruction for the computation of values.
pub(super) fn insn(word: u32, at: u64) -> Insn {
    let form = form(word, at);
    let mut insn = Insn::new(at, 4);
    let plain = |register: u8| (register != SP).then_some(register);
    match form {
        Form::Page { to, page: value }
        | Form::Address { to, address: value }
        | Form::Set { to, value } => {
            let effect = Effect::Move { to: Part::whole(to), from: Source::Const(value) };
            insn.set(plain(to), effect);
        }
        Form::AddImmediate { to, from, value, wide } => {
            let (to, left) = (Part::of_width(to, wide), Source::Reg(from));
            let right = Source::Const(value);
            insn.push(Effect::Binary { op: BinaryOp::Add, to, left, right });
        }
        Form::Insert { to, value, shift } => {
            let keep = !(0xffff_u64 << shift);
            let add = u64::from(value) << shift;
            for (op, value) in [(BinaryOp::And, keep), (BinaryOp::Or, add)] {
                let (left, right) = (Source::Reg(to), Source::Const(value));
                insn.set(plain(to), Effect::Binary { op, to: Part::whole(to), left, right });
            }
        }
        Form::Move { to, from, wide } => {
            let effect = Effect::Move { to: Part::of_width(to, wide), from: source(from) };
            insn.set(plain(to), effect);
        }
        Form::Logic { to, from, value, op, wide } => {
            let (left, right) = (source(from), Source::Const(value));
            insn.push(Effect::Binary { op, to: Part::of_width(to, wide), left, right });
        }
        Form::Select { to, first, second, altered, wide } => {
            let effect = select(Part::of_width(to, wide), first, second, altered);
            // One of them may be passed on.
            if matches!(effect, Effect::Forget(_)) {
                insn.reads = (1 << first | 1 << second) & !(1 << SP);
            }
            insn.set(plain(to), effect);
        }
        Form::Load { to, signed, access } => {
            let size = access.size;
            insn.set(plain(to), load(to, access.place(0), size));
            if signed {
                let wide = bits(word, 22, 2) == 2;
                insn.set(plain(to), Effect::Extend { to: Part::of_width(to, wide), size });
            }
            writes_back(&mut insn, access);
        }
        Form::LoadPair { first, second, access } => {
            let mut loads = [(first, access.place(0)), (second, access.place(1))];
            // If the first register is the base, the second load must come first.
            if first == access.base {
                loads.reverse();
            }
            for (to, place) in loads {
                insn.set(plain(to), load(to, place, access.size));
            }
            writes_back(&mut insn, access);
        }
        Form::Store { from, second, access } => {
            let value = |register: u8| (register < 32).then(|| source(register));
            for (register, index) in [Some(from), second].into_iter().flatten().zip(0..) {
                let (place, from) = (access.place(index), value(register));
                insn.push(Effect::Store { place, from, size: access.size });
            }
            writes_back(&mut insn, access);
        }
        Form::LoadLiteral { to, address } => {
            insn.set(plain(to), load(to, Place::fixed(address), 8));
        }
        Form::Branch(target) => insn.flow = Flow::Jump(target),
        Form::BranchIf(target) => {
            insn.flow = Flow::Branch(target);
            insn.test = test(word);
        }
        Form::Call(target) => insn.flow = Flow::Call(Callee::Address(target)),
        Form::BranchRegister(register) => {
            insn.flow = Flow::JumpAnywhere;
            insn.through = Some(Through::Register(register));
        }
        Form::CallRegister(register) => {
            insn.flow = Flow::Call(Callee::Indirect);
            insn.through = Some(Through::Register(register));
        }
        Form::Return => insn.flow = Flow::Return,
        Form::Trap => insn.flow = Flow::Stop,
        Form::Syscall => insn.flow = Flow::Syscall,
        Form::Nop => insn.is_padding = true,
        Form::Other if extension(word).is_some() => {
            insn.effects.extend(extension(word).into_iter().flatten());
        }
        Form::Other => {
            insn.reads = other_reads(word);
            if is_memory(word) {
                // A register as index, of a general or a vector register; atomics may load as well as store.
                let is_indexed = word & 0x3b20_0c00 == 0x3820_0800;
                let is_vector = bits(word, 26, 1) == 1;
                let is_load =
                    is_indexed && !matches!((is_vector, bits(word, 22, 2)), (_, 0) | (true, 2));
                let base = if is_clearing(word) { bits(word, 0, 5) } else { bits(word, 5, 5) };
                let base = (!is_load).then_some(base as u8);
                let index = (!is_load && is_indexed).then_some(bits(word, 16, 5) as u8);
                let place = Place::indexed(base, index.filter(|index| *index != SP));
                insn.push(Effect::Store { place, from: None, size: 16 });
                insn.copies = Some((Place::unknown(), 16));
            }
            // After the store, whose address these registers may be.
            let written = other_writes(word);
            for register in (0..=SP).filter(|register| written >> register & 1 != 0) {
                insn.push(Effect::Forget(register));
            }
            insn.push(Effect::Flags(flags(word)));
        }
    }
    insn
}

/// SXTB, SXTH, SXTW, UXTB and UXTH, which are bit field moves.
fn extension(word: u32) -> Option<[Effect; 2]> {
    let wide = word >> 31 != 0;
    let (to, from, last) = (bits(word, 0, 5) as u8, bits(word, 5, 5) as u8, bits(word, 10, 6));
    let size = match last {
        7 => 1,
        15 => 2,
        31 => 4,
        _ => return None,
    };
    let is_field = word & 0x1fbf_0000 == 0x1300_0000 && bits(word, 22, 1) == bits(word, 31, 1);
    if !is_field || to >= SP || from >= SP {
        return None;
    }
    let whole = Part::whole(to);
    let zeros = Effect::Move { to: whole, from: Source::Part(Part::low(from, size)) };
    match bits(word, 29, 2) {
        0 => Some([zeros, Effect::Extend { to: Part::of_width(to, wide), size }]),
        2 => Some([zeros, Effect::Move { to: whole, from: Source::Reg(to) }]),
        _ => None,
    }
}

/// CSEL and its variants. Compilers use the altered ones with the zero register, or with the same register twice.
fn select(to: Part, first: u8, second: u8, altered: Altered) -> Effect {
    let either = |second| Effect::Either { to, first: source(first), second };
    match (altered, first, second) {
        (Altered::Same, ..) => either(source(second)),
        (Altered::PlusOne, first, second) if first == second => {
            let (left, right) = (source(first), Source::Either(0, 1));
            Effect::Binary { op: BinaryOp::Add, to, left, right }
        }
        (Altered::Inverted, SP, SP) => Effect::Move { to, from: Source::Either(0, u64::MAX) },
        (Altered::PlusOne, _, SP) => either(Source::Const(1)),
        (Altered::Inverted, _, SP) => either(Source::Const(u64::MAX)),
        _ => Effect::Forget(to.register),
    }
}

/// A register as an operand that may be the zero register.
fn source(register: u8) -> Source {
    if register >= SP { Source::Const(0) } else { Source::Reg(register) }
}

fn load(to: u8, place: Place, size: u8) -> Effect {
    Effect::Load { to: Part::whole(to), place, size }
}

impl Access {
    /// Where the memory of the first register is, or of the second one.
    fn place(self, index: i64) -> Place {
        let offset = if self.post { 0 } else { self.offset };
        Place::at(self.base, offset + index * i64::from(self.size))
    }
}

fn writes_back(insn: &mut Insn, access: Access) {
    if access.writeback {
        insn.push(Effect::add(access.base, access.offset));
    }
}

/// A part of a register as an operand that may be the zero register.
fn part_or_zero(register: u8, size: u8) -> Source {
    if register >= SP { Source::Const(0) } else { Source::Part(Part::low(register, size)) }
}

/// A comparison of a register other than SP and the zero register.
fn comparison(register: u8, size: u8, against: Against) -> Option<Comparison> {
    let left = Compared::Part(Part::low(register, size));
    (register < SP).then_some(Comparison { left, against })
}

/// What the flags say after an instruction that may set them.
fn flags(word: u32) -> Option<Comparison> {
    let size = if word >> 31 != 0 { 8 } else { 4 };
    let (to, first, second) = (reg(word, 0), reg(word, 5), reg(word, 16));
    match word {
        // SUBS of a constant; CMP is one without a result.
        _ if word & 0x7f80_0000 == 0x7100_0000 => {
            let shift = if bits(word, 22, 1) == 1 { 12 } else { 0 };
            let value = u64::from(bits(word, 10, 12)) << shift;
            match to == first {
                true => comparison(to, size, Against::Result),
                false => comparison(first, size, Against::Value(Source::Const(value))),
            }
        }
        // SUBS of a register without a shift.
        _ if word & 0x7fe0_fc00 == 0x6b00_0000 => match to {
            SP => comparison(first, size, Against::Value(part_or_zero(second, size))),
            _ => comparison(to, size, Against::Result),
        },
        // TST of a constant, and of a register with itself.
        _ if word & 0x7f80_001f == 0x7200_001f => {
            comparison(first, size, Against::Mask(mask(word)?))
        }
        _ if word & 0x7fe0_fc1f == 0x6a00_001f && first == second => {
            comparison(first, size, Against::Mask(u64::MAX))
        }
        _ => None,
    }
}

/// What a branch depends on.
fn test(word: u32) -> Option<Test> {
    let is_zero = |inverse: u32| match inverse {
        0 => Condition::Equal,
        _ => Condition::NotEqual,
    };
    let of = |condition, comparison| Some(Test { condition, comparison });
    match word {
        // CBZ and CBNZ.
        _ if word & 0x7e00_0000 == 0x3400_0000 => {
            let size = if word >> 31 != 0 { 8 } else { 4 };
            let zero = Against::Value(Source::Const(0));
            of(is_zero(bits(word, 24, 1)), Some(comparison(reg(word, 0), size, zero)?))
        }
        // TBZ and TBNZ.
        _ if word & 0x7e00_0000 == 0x3600_0000 => {
            let bit = bits(word, 31, 1) << 5 | bits(word, 19, 5);
            let mask = Against::Mask(1 << bit);
            of(is_zero(bits(word, 24, 1)), Some(comparison(reg(word, 0), 8, mask)?))
        }
        // B with a condition.
        _ if word & 0xff00_0010 == 0x5400_0000 => {
            let condition = match bits(word, 0, 4) {
                0 => Condition::Equal,
                1 => Condition::NotEqual,
                2 => Condition::AboveOrEqual,
                3 => Condition::Below,
                4 => Condition::Negative,
                5 => Condition::NotNegative,
                8 => Condition::Above,
                9 => Condition::BelowOrEqual,
                10 => Condition::GreaterOrEqual,
                11 => Condition::Less,
                12 => Condition::Greater,
                13 => Condition::LessOrEqual,
                _ => return None,
            };
            of(condition, None)
        }
        _ => None,
    }
}
