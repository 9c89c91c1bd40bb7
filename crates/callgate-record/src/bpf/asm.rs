//! Assembler for eBPF: the instructions that the recorder's programs need, with labels, and the types of the programs'
//! functions, as the kernel wants them (BTF).
//!
//! Sources: `Documentation/bpf/standardization/instruction-set.rst`, `include/uapi/linux/bpf.h`.
//!
//! With types, the verifier checks a function once for all arguments of these types, and not at each call.
//!
//! Source: `Documentation/bpf/btf.rst`.

use super::layout::ARG_WORDS;

/// A register; R10 is the frame pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reg(u8);

pub(super) const R0: Reg = Reg(0);
pub(super) const R1: Reg = Reg(1);
pub(super) const R2: Reg = Reg(2);
pub(super) const R3: Reg = Reg(3);
pub(super) const R4: Reg = Reg(4);
pub(super) const R5: Reg = Reg(5);
pub(super) const R6: Reg = Reg(6);
pub(super) const R7: Reg = Reg(7);
pub(super) const R8: Reg = Reg(8);
pub(super) const R9: Reg = Reg(9);
pub(super) const FP: Reg = Reg(10);

/// An instruction in the kernel's encoding (`struct bpf_insn`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Insn {
    op: u8,
    regs: u8,
    off: i16,
    imm: i32,
}

impl Insn {
    /// Its eight bytes as a number.
    pub(super) fn word(&self) -> u64 {
        let Insn { op, regs, off, imm } = *self;
        u64::from(op)
            | u64::from(regs) << 8
            | u64::from(off as u16) << 16
            | u64::from(imm as u32) << 32
    }
}

/// A program in the kernel's encoding.
pub(super) struct Code {
    pub(super) insns: Vec<Insn>,
    /// Where its function starts, if it has one.
    pub(super) function: Option<usize>,
}

/// The second operand.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Reg(Reg),
    Imm(i32),
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Operand {
        Operand::Reg(reg)
    }
}

impl From<i32> for Operand {
    fn from(imm: i32) -> Operand {
        Operand::Imm(imm)
    }
}

/// 64-bit arithmetic.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Alu {
    Add = 0x00,
    Or = 0x40,
    And = 0x50,
    Lsh = 0x60,
    Xor = 0xa0,
    Mov = 0xb0,
}

/// 64-bit unsigned comparisons.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Cond {
    Eq = 0x10,
    Gt = 0x20,
    Ge = 0x30,
    Ne = 0x50,
    Le = 0xb0,
}

/// The kernel's functions (`enum bpf_func_id`).
#[derive(Clone, Copy)]
#[repr(i32)]
pub(super) enum Helper {
    MapLookup = 1,
    MapUpdate = 2,
    MapDelete = 3,
    CurrentPidTgid = 14,
    ReadKernelString = 115,
    AncestorCgroup = 123,
    CurrentTask = 158,
    TaskRegisters = 175,
}

/// The width of a load or store.
#[derive(Clone, Copy)]
pub(super) enum Size {
    Word,
    Double,
}

/// The target of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// A program that is being assembled.
#[derive(Default)]
pub(super) struct Asm {
    insns: Vec<Insn>,
    labels: Vec<Option<usize>>,
    /// The jumps and their targets.
    jumps: Vec<(usize, Label)>,
    /// The calls of the function.
    calls: Vec<usize>,
    function: Option<usize>,
}

impl Asm {
    fn push(&mut self, op: u8, dst: Reg, src: Reg, off: i16, imm: i32) {
        self.insns.push(Insn { op, regs: dst.0 | src.0 << 4, off, imm });
    }

    /// A new label.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Binds a label to this position.
    pub(super) fn here(&mut self, label: Label) {
        self.labels[label.0] = Some(self.insns.len());
    }

    pub(super) fn alu(&mut self, alu: Alu, dst: Reg, operand: impl Into<Operand>) {
        match operand.into() {
            Operand::Reg(src) => self.push(0x0f | alu as u8, dst, src, 0, 0),
            Operand::Imm(imm) => self.push(0x07 | alu as u8, dst, R0, 0, imm),
        }
    }

    pub(super) fn mov(&mut self, dst: Reg, operand: impl Into<Operand>) {
        self.alu(Alu::Mov, dst, operand);
    }

    /// Moves the low half of a register and clears the high half.
    pub(super) fn mov32(&mut self, dst: Reg, src: Reg) {
        self.push(0xbc, dst, src, 0, 0);
    }

    pub(super) fn load(&mut self, size: Size, dst: Reg, base: Reg, off: i16) {
        let op = match size {
            Size::Word => 0x61,
            Size::Double => 0x79,
        };
        self.push(op, dst, base, off, 0);
    }

    pub(super) fn store(&mut self, size: Size, base: Reg, off: i16, operand: impl Into<Operand>) {
        let wide = match size {
            Size::Word => 0,
            Size::Double => 0x18,
        };
        match operand.into() {
            Operand::Reg(src) => self.push(0x63 | wide, base, src, off, 0),
            Operand::Imm(imm) => self.push(0x62 | wide, base, R0, off, imm),
        }
    }

    /// Adds a register to eight bytes of memory, atomically.
    pub(super) fn atomic_add(&mut self, base: Reg, off: i16, src: Reg) {
        self.push(0xdb, base, src, off, 0);
    }

    /// Like that, and sets the register to the value before.
    pub(super) fn atomic_fetch_add(&mut self, base: Reg, off: i16, src: Reg) {
        /// `BPF_FETCH` with `BPF_ADD`.
        const FETCH: i32 = 1;
        self.push(0xdb, base, src, off, FETCH);
    }

    /// A 64-bit constant.
    pub(super) fn constant(&mut self, dst: Reg, value: u64) {
        self.wide(dst, R0, value);
    }

    /// Loads the address of a map, given by its descriptor.
    pub(super) fn map(&mut self, dst: Reg, descriptor: i32) {
        self.wide(dst, R1, u64::from(descriptor as u32));
    }

    fn wide(&mut self, dst: Reg, src: Reg, value: u64) {
        self.push(0x18, dst, src, 0, value as i32);
        self.push(0, R0, R0, 0, (value >> 32) as i32);
    }

    pub(super) fn call(&mut self, helper: Helper) {
        self.push(0x85, R0, R0, 0, helper as i32);
    }

    /// Calls the program's function with arguments in R1 to R5; changes R0 to R5.
    pub(super) fn call_function(&mut self) {
        /// `BPF_PSEUDO_CALL`.
        const PSEUDO_CALL: Reg = R1;
        self.calls.push(self.insns.len());
        self.push(0x85, R0, PSEUDO_CALL, 0, 0);
    }

    /// What follows is the program's function.
    pub(super) fn function(&mut self) {
        self.function = Some(self.insns.len());
    }

    pub(super) fn jump(&mut self, to: Label) {
        self.jumps.push((self.insns.len(), to));
        self.push(0x05, R0, R0, 0, 0);
    }

    pub(super) fn jump_if(&mut self, cond: Cond, dst: Reg, operand: impl Into<Operand>, to: Label) {
        self.jumps.push((self.insns.len(), to));
        match operand.into() {
            Operand::Reg(src) => self.push(0x0d | cond as u8, dst, src, 0, 0),
            Operand::Imm(imm) => self.push(0x05 | cond as u8, dst, R0, 0, imm),
        }
    }

    /// Ends the program, or its function; the result has no meaning.
    pub(super) fn exit(&mut self) {
        self.mov(R0, 0);
        self.push(0x95, R0, R0, 0, 0);
    }

    /// The program with all jumps resolved.
    ///
    /// # Panics
    /// If a label is not bound or out of reach, or the function is missing, which is a defect in the program.
    pub(super) fn finish(mut self) -> Code {
        for (at, label) in &self.jumps {
            let target = self.labels[label.0].expect("every label has a place");
            let distance = target as i64 - *at as i64 - 1;
            self.insns[*at].off = i16::try_from(distance).expect("jumps reach 32,767 instructions");
        }
        for at in self.calls {
            let target = self.function.expect("a function that is called exists");
            let distance = target as i64 - at as i64 - 1;
            self.insns[at].imm = i32::try_from(distance).expect("programs are short");
        }
        Code { insns: self.insns, function: self.function }
    }
}

/// The ID of the type of a program's main function.
pub(super) const MAIN: u32 = 7;
/// The ID of the type of [`note_value`](super::programs::note_value).
pub(super) const NOTE_VALUE: u32 = 6;

/// Kinds of types (`BTF_KIND_…`).
const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;

/// `BTF_FUNC_GLOBAL`: checked by its types alone.
const GLOBAL: u32 = 1;

/// The types: `u64`, `u64[]` with the words of an argument, pointers to both, and two functions that return `u64`.
pub(super) fn function_types() -> Vec<u8> {
    let mut names = Names(vec![0]);
    let (word, context) = (names.add("u64"), names.add("context"));
    let (value, words, key) = (names.add("value"), names.add("words"), names.add("key"));
    let (note_value, main) = (names.add("note_value"), names.add("main"));
    let head = |name: u32, kind: u32, count: u32, size_or_type: u32| {
        [name, kind << 24 | count, size_or_type]
    };
    let types: Vec<u32> = [
        // 1: u64; 2: an array of it; 3 and 4: pointers to them.
        &head(word, INT, 0, 8)[..],
        &[64],
        &head(0, ARRAY, 0, 0),
        &[1, 1, ARG_WORDS as u32],
        &head(0, POINTER, 0, 1),
        &head(0, POINTER, 0, 2),
        // 5 and 6: u64 note_value(u64 value, u64 (*words)[], u64 key).
        &head(0, FUNC_PROTO, 3, 1),
        &[value, 1, words, 4, key, 1],
        &head(note_value, FUNC, GLOBAL, 5),
        // 7 and 8: u64 main(u64 *context).
        &head(main, FUNC, GLOBAL, 8),
        &head(0, FUNC_PROTO, 1, 1),
        &[context, 3],
    ]
    .concat();
    const HEADER: u32 = 24;
    let length = 4 * types.len() as u32;
    let header = [HEADER, 0, length, length, names.0.len() as u32];
    let mut file = 0xeb9f_u16.to_ne_bytes().to_vec();
    // Version and flags.
    file.extend([1, 0]);
    file.extend(header.iter().chain(&types).flat_map(|word| word.to_ne_bytes()));
    file.extend(names.0);
    file
}

/// The strings of the types, each with a zero byte at its end.
struct Names(Vec<u8>);

impl Names {
    /// Adds a name; returns its offset.
    fn add(&mut self, name: &str) -> u32 {
        let offset = self.0.len() as u32;
        self.0.extend(name.bytes().chain([0]));
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_lead_to_their_labels() {
        let mut asm = Asm::default();
        let (start, end) = (asm.label(), asm.label());
        asm.here(start);
        asm.jump_if(Cond::Eq, R1, 5, end);
        asm.constant(R2, 0x1_0000_0002);
        asm.jump(start);
        asm.here(end);
        asm.call_function();
        asm.exit();
        asm.function();
        asm.exit();
        let program = asm.finish();
        assert_eq!(program.function, Some(7));
        let words: Vec<_> =
            program.insns.iter().map(|insn| (insn.op, insn.regs, insn.off, insn.imm)).collect();
        let expected = [
            (0x15, 1, 3, 5),
            (0x18, 2, 0, 2),
            (0, 0, 0, 1),
            (0x05, 0, -4, 0),
            (0x85, 1 << 4, 0, 2),
            (0xb7, 0, 0, 0),
            (0x95, 0, 0, 0),
            (0xb7, 0, 0, 0),
            (0x95, 0, 0, 0),
        ];
        assert_eq!(words, expected);
    }
}
