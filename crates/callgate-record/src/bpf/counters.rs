//! The parts of the eBPF programs that call maps, count a syscall, and note the values of its arguments.

use super::asm::Helper::{CurrentTask, MapLookup, MapUpdate};
use super::asm::Size::{Double, Word};
use super::asm::{Alu, Asm, Cond, FP, Helper, Label, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, Reg};
use super::layout::{
    ARG_WORDS, Maps, NO_EXECUTABLE, OVERFULL, Offsets, SLOTS, TS_COMPAT, regs, session, stack,
};

/// Calls a function of a map with a key on the stack.
pub(super) fn map_call(asm: &mut Asm, helper: Helper, map: i32, key: i16) {
    asm.map(R1, map);
    asm.mov(R2, FP);
    asm.alu(Alu::Add, R2, i32::from(key));
    asm.call(helper);
}

/// Like that, with the map in a register.
fn call_of_map(asm: &mut Asm, helper: Helper, map: Reg, key: i16) {
    asm.mov(R1, map);
    asm.mov(R2, FP);
    asm.alu(Alu::Add, R2, i32::from(key));
    asm.call(helper);
}

/// Adds 1 to a word of the session.
pub(super) fn increment(asm: &mut Asm, maps: Maps, word: i16) {
    let end = asm.label();
    map_call(asm, MapLookup, maps.sessions, stack::SESSION);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.mov(R1, 1);
    asm.atomic_add(R0, 8 * word, R1);
    asm.here(end);
}

/// Counts the syscall described by the registers in R6, except number -1, which a tracer sets; see [`count_syscall`].
pub(super) fn count_denied(asm: &mut Asm, maps: Maps, offsets: Offsets, none: Label) {
    asm.load(Double, R7, R6, regs::ORIG_AX);
    asm.mov32(R7, R7);
    asm.constant(R1, u32::MAX.into());
    asm.jump_if(Cond::Eq, R7, R1, none);
    increment(asm, maps, session::DENIED);
    count_syscall(asm, maps, offsets);
}

/// Counts the syscall with the registers in R6 and the number in R7. Calls [`note_value`], which must be the program's
/// function.
pub(super) fn count_syscall(asm: &mut Asm, maps: Maps, offsets: Offsets) {
    let (native, args, found) = (asm.label(), asm.label(), asm.label());
    let (whole, unsplit, end) = (asm.label(), asm.label(), asm.label());
    asm.call(CurrentTask);
    asm.load(Word, R1, R0, offsets.status);
    asm.alu(Alu::And, R1, TS_COMPAT);
    asm.store(Word, FP, stack::SYSCALL, R1);
    asm.store(Word, FP, stack::SYSCALL + 4, R7);
    asm.load(Double, R2, FP, stack::EXECUTABLE);
    asm.store(Double, FP, stack::SYSCALL + 8, R2);
    asm.jump_if(Cond::Eq, R1, 0, native);
    copy_args(asm, regs::COMPAT_ARGS);
    asm.jump(args);
    asm.here(native);
    copy_args(asm, regs::ARGS);
    asm.here(args);

    // The map of a session that has ended is gone.
    map_call(asm, MapLookup, maps.syscalls, stack::SESSION);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.mov(R8, R0);
    call_of_map(asm, MapLookup, R8, stack::SYSCALL);
    asm.jump_if(Cond::Ne, R0, 0, found);
    asm.load(Double, R1, FP, stack::EXECUTABLE);
    asm.jump_if(Cond::Eq, R1, NO_EXECUTABLE, whole);
    map_call(asm, MapLookup, maps.sessions, stack::SESSION);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.load(Double, R2, R0, 8 * session::MAX_PAIRS);
    asm.load(Double, R1, R0, 8 * session::PAIRS);
    asm.jump_if(Cond::Ge, R1, R2, unsplit);
    // Other processors may have taken the last ones, or insert the same one.
    asm.mov(R1, 1);
    asm.atomic_fetch_add(R0, 8 * session::PAIRS, R1);
    asm.jump_if(Cond::Ge, R1, R2, unsplit);
    insert_counter(asm, maps, found);
    asm.here(unsplit);
    increment(asm, maps, session::UNSPLIT);
    asm.store(Double, FP, stack::SYSCALL + 8, NO_EXECUTABLE);
    call_of_map(asm, MapLookup, R8, stack::SYSCALL);
    asm.jump_if(Cond::Ne, R0, 0, found);
    asm.here(whole);
    insert_counter(asm, maps, found);
    increment(asm, maps, session::LOST);
    asm.jump(end);

    asm.here(found);
    asm.mov(R8, R0);
    asm.load(Double, R1, R8, 0);
    asm.alu(Alu::Add, R1, 1);
    asm.store(Double, R8, 0, R1);
    asm.load(Double, R9, FP, stack::KEY);
    for index in 0..6 {
        asm.load(Double, R1, FP, stack::ARGS + 8 * index);
        asm.mov(R2, R8);
        asm.alu(Alu::Add, R2, i32::from(8 + 8 * ARG_WORDS * index));
        asm.mov(R3, R9);
        asm.call_function();
    }
    asm.here(end);
}

/// Inserts a counter for the key on the stack into the map in R8, and goes to `found` with it in R0, unless the map is
/// full.
fn insert_counter(asm: &mut Asm, maps: Maps, found: Label) {
    let full = asm.label();
    asm.store(Word, FP, stack::SMALL, 0);
    map_call(asm, MapLookup, maps.zero, stack::SMALL);
    asm.jump_if(Cond::Eq, R0, 0, full);
    asm.mov(R3, R0);
    // BPF_NOEXIST keeps an entry that another processor has just inserted.
    asm.mov(R4, 1);
    call_of_map(asm, MapUpdate, R8, stack::SYSCALL);
    call_of_map(asm, MapLookup, R8, stack::SYSCALL);
    asm.jump_if(Cond::Ne, R0, 0, found);
    asm.here(full);
}

fn copy_args(asm: &mut Asm, registers: [i16; 6]) {
    for (index, register) in (0..).zip(registers) {
        asm.load(Double, R1, R6, register);
        asm.store(Double, FP, stack::ARGS + 8 * index, R1);
    }
}

/// The function that notes the value of an argument: the value in R1, the words of the argument in R2, and the key of values in
/// R3 ([`function_types`](super::function_types)).
///
/// The verifier checks a function with types once, and not at each call: docs/decisions/recordings.md has the
/// times. The search has no loop and does not check the length, which halves the number of paths and saves instructions.
pub(super) fn note_value(asm: &mut Asm) {
    let [length, min, max, ever, always, values] = [0, 8, 16, 24, 32, 40];
    let (bounds, done, full) = (asm.label(), asm.label(), asm.label());
    asm.function();
    // The verifier does not know that no caller passes a null pointer.
    asm.jump_if(Cond::Eq, R2, 0, done);
    asm.load(Double, R4, R2, length);
    asm.jump_if(Cond::Gt, R4, i32::from(SLOTS), bounds);
    asm.alu(Alu::Xor, R3, R1);
    for slot in 0..SLOTS {
        asm.load(Double, R5, R2, values + 8 * slot);
        asm.jump_if(Cond::Eq, R5, R3, done);
    }
    asm.jump_if(Cond::Gt, R4, i32::from(SLOTS) - 1, full);
    asm.mov(R5, R4);
    asm.alu(Alu::Lsh, R5, 3);
    asm.alu(Alu::Add, R5, R2);
    asm.store(Double, R5, values, R3);
    asm.alu(Alu::Add, R4, 1);
    asm.store(Double, R2, length, R4);
    asm.jump(done);

    asm.here(full);
    asm.store(Double, R2, length, OVERFULL);
    for bound in [min, max, ever, always] {
        asm.store(Double, R2, bound, R1);
    }
    asm.jump(done);

    asm.here(bounds);
    for (bound, keeps) in [(min, Cond::Le), (max, Cond::Ge)] {
        let next = asm.label();
        asm.load(Double, R3, R2, bound);
        asm.jump_if(keeps, R3, R1, next);
        asm.store(Double, R2, bound, R1);
        asm.here(next);
    }
    for (bound, with) in [(ever, Alu::Or), (always, Alu::And)] {
        asm.load(Double, R3, R2, bound);
        asm.alu(with, R3, R1);
        asm.store(Double, R2, bound, R3);
    }
    asm.here(done);
    asm.exit();
}
