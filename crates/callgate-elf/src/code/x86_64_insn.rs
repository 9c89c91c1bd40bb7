//! What x86-64 instructions do to registers and memory. Of instructions that do not occur in the computation of syscall
//! numbers, only the registers and the memory that they write matter.

use iced_x86::{
    ConditionCode, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory,
    Mnemonic, OpAccess, OpKind, Register,
};

use super::insn::{
    Against, BinaryOp, Callee, Compared, Comparison, Condition, Effect, Flow, Insn, Part, Place,
    Reg, Source, Test, Through,
};

const AX: Reg = 0;
const SP: Reg = 4;
const BP: Reg = 5;

pub(super) fn decode(bytes: &[u8], start: u64, limit: usize) -> Vec<Insn> {
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let mut factory = InstructionInfoFactory::new();
    let mut insns = Vec::new();
    let mut raw = Instruction::default();
    while decoder.can_decode() && insns.len() < limit {
        decoder.decode_out(&mut raw);
        let mut insn = Insn::new(raw.ip(), raw.len() as u64);
        insn.flow = flow(&raw);
        insn.is_padding = matches!(raw.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
            || (raw.mnemonic() == Mnemonic::Xchg && raw.op0_register() == raw.op1_register());
        insn.test = condition(&raw).map(|condition| Test { condition, comparison: None });
        if effects(&raw, &mut insn).is_none() {
            insn.effects.clear();
            writes(&raw, &mut factory, &mut insn);
        }
        if matches!(insn.flow, Flow::Call(Callee::Indirect) | Flow::JumpAnywhere) {
            insn.through = through(&raw);
        }
        if raw.rflags_modified() != 0 {
            insn.push(Effect::Flags(flags(&raw)));
        }
        insns.push(insn);
    }
    insns
}

fn flow(raw: &Instruction) -> Flow {
    let near = raw.op0_kind() == OpKind::NearBranch64;
    match raw.flow_control() {
        FlowControl::UnconditionalBranch if near => Flow::Jump(raw.near_branch64()),
        FlowControl::ConditionalBranch if near => Flow::Branch(raw.near_branch64()),
        FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => Flow::JumpAnywhere,
        FlowControl::Call if raw.mnemonic() == Mnemonic::Syscall => Flow::Syscall,
        FlowControl::Call if near => Flow::Call(Callee::Address(raw.near_branch64())),
        FlowControl::Call | FlowControl::IndirectCall => Flow::Call(Callee::Indirect),
        FlowControl::Return => Flow::Return,
        FlowControl::Exception => Flow::Stop,
        _ if raw.mnemonic() == Mnemonic::Hlt => Flow::Halt,
        _ if raw.is_invalid() => Flow::Stop,
        _ => Flow::Next,
    }
}

/// Where an indirect call or jump has its target.
fn through(raw: &Instruction) -> Option<Through> {
    match raw.op0_kind() {
        OpKind::Register => register(raw, 0).map(|part| Through::Register(part.register)),
        _ => Some(Through::Memory(place(raw))),
    }
}

/// When a branch is taken.
fn condition(raw: &Instruction) -> Option<Condition> {
    if raw.flow_control() != FlowControl::ConditionalBranch {
        return None;
    }
    match raw.condition_code() {
        ConditionCode::e => Some(Condition::Equal),
        ConditionCode::ne => Some(Condition::NotEqual),
        ConditionCode::b => Some(Condition::Below),
        ConditionCode::ae => Some(Condition::AboveOrEqual),
        ConditionCode::be => Some(Condition::BelowOrEqual),
        ConditionCode::a => Some(Condition::Above),
        ConditionCode::l => Some(Condition::Less),
        ConditionCode::ge => Some(Condition::GreaterOrEqual),
        ConditionCode::le => Some(Condition::LessOrEqual),
        ConditionCode::g => Some(Condition::Greater),
        ConditionCode::s => Some(Condition::Negative),
        ConditionCode::ns => Some(Condition::NotNegative),
        _ => None,
    }
}

/// What the flags say after an instruction that changes them.
fn flags(raw: &Instruction) -> Option<Comparison> {
    let left = match raw.op0_kind() {
        OpKind::Register => Compared::Part(part(raw, 0)?),
        OpKind::Memory => Compared::Memory(place(raw), size_of_memory(raw)),
        _ => return None,
    };
    let against = match raw.mnemonic() {
        Mnemonic::Cmp => Against::Value(source(raw, 1)?),
        Mnemonic::Test if raw.op1_kind() == OpKind::Register => {
            if raw.op0_register() != raw.op1_register() || raw.op0_kind() != OpKind::Register {
                return None;
            }
            Against::Value(Source::Const(0))
        }
        Mnemonic::Test => Against::Mask(raw.immediate(1)),
        // The result is in a register; these clear carry and overflow.
        Mnemonic::And | Mnemonic::Or | Mnemonic::Xor if raw.op0_kind() == OpKind::Register => {
            Against::Value(Source::Const(0))
        }
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::Inc | Mnemonic::Dec | Mnemonic::Neg
            if raw.op0_kind() == OpKind::Register =>
        {
            Against::Result
        }
        _ => return None,
    };
    Some(Comparison { left, against })
}

/// The register of an operand of 32 or 64 bits.
fn register(raw: &Instruction, operand: u32) -> Option<Part> {
    part(raw, operand).filter(|part| part.size >= 4)
}

/// The part of a register that is an operand.
fn part(raw: &Instruction, operand: u32) -> Option<Part> {
    if raw.op_kind(operand) != OpKind::Register {
        return None;
    }
    let register = raw.op_register(operand);
    if !register.is_gpr() {
        return None;
    }
    Some(Part {
        register: register.full_register().number() as Reg,
        shift: if is_high(register) { 8 } else { 0 },
        size: register.size() as u8,
    })
}

/// An operand that is not in memory. A register of 32 bits is as good as the whole one for results of 32 bits.
fn source(raw: &Instruction, operand: u32) -> Option<Source> {
    match raw.op_kind(operand) {
        OpKind::Register => part(raw, operand).map(|part| match part.size {
            8 => Source::Reg(part.register),
            _ => Source::Part(part),
        }),
        OpKind::Immediate8
        | OpKind::Immediate8to16
        | OpKind::Immediate8to32
        | OpKind::Immediate8to64
        | OpKind::Immediate16
        | OpKind::Immediate32
        | OpKind::Immediate32to64
        | OpKind::Immediate64 => Some(Source::Const(raw.immediate(operand))),
        _ => None,
    }
}

/// The size of the memory operand in bytes.
fn size_of_memory(raw: &Instruction) -> u8 {
    raw.memory_size().size().min(255) as u8
}

/// The address of the memory operand.
fn place(raw: &Instruction) -> Place {
    if raw.segment_prefix() != Register::None {
        return Place::unknown();
    }
    if raw.memory_index() != Register::None {
        let general = |register: Register| register.is_gpr64().then_some(register.number() as Reg);
        return Place::indexed(general(raw.memory_base()), general(raw.memory_index()));
    }
    match raw.memory_base() {
        Register::RIP => Place::fixed(raw.ip_rel_memory_address()),
        Register::None => Place::fixed(raw.memory_displacement64()),
        base if base.is_gpr64() => {
            Place::at(base.number() as Reg, raw.memory_displacement64() as i64)
        }
        _ => Place::unknown(),
    }
}

/// The steps of an instruction that is known exactly.
fn effects(raw: &Instruction, insn: &mut Insn) -> Option<()> {
    let size = size_of_memory(raw);
    let second_is_memory = raw.op_count() > 1 && raw.op1_kind() == OpKind::Memory;
    // SETcc, which has one operand, and CMOVcc, which has two.
    let is_conditional = insn.flow == Flow::Next && raw.condition_code() != ConditionCode::None;
    match raw.mnemonic() {
        Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Cmp | Mnemonic::Test => {}
        Mnemonic::Mov if raw.op0_kind() == OpKind::Memory => {
            insn.push(Effect::Store { place: place(raw), from: source(raw, 1), size });
        }
        Mnemonic::Mov => {
            let to = part(raw, 0)?;
            insn.push(match second_is_memory {
                true => {
                    let to = if to.size >= 4 { Part::whole(to.register) } else { to };
                    Effect::Load { to, place: place(raw), size }
                }
                false => Effect::Move { to, from: source(raw, 1)? },
            });
        }
        Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd => {
            let to = register(raw, 0)?;
            let whole = Part::whole(to.register);
            let size = match second_is_memory {
                true => {
                    insn.push(Effect::Load { to: whole, place: place(raw), size });
                    size
                }
                false => {
                    let from = part(raw, 1)?;
                    insn.push(Effect::Move { to: whole, from: Source::Part(from) });
                    from.size
                }
            };
            if raw.mnemonic() != Mnemonic::Movzx {
                insn.push(Effect::Extend { to, size });
            }
        }
        // Extensions within RAX.
        Mnemonic::Cdqe => insn.push(Effect::Extend { to: Part::low(AX, 8), size: 4 }),
        Mnemonic::Cwde => insn.push(Effect::Extend { to: Part::low(AX, 4), size: 2 }),
        Mnemonic::Lea => {
            let to = register(raw, 0)?;
            match place(raw) {
                Place { is_known: false, .. } => scaled(raw, to, insn)?,
                Place { base: None, offset, .. } => {
                    insn.push(Effect::Move { to, from: Source::Const(offset as u64) });
                }
                Place { base: Some(base), offset, .. } => {
                    let (left, right) = (Source::Reg(base), Source::Const(offset as u64));
                    insn.push(Effect::Binary { op: BinaryOp::Add, to, left, right });
                }
            }
        }
        Mnemonic::Xor | Mnemonic::Sub
            if raw.op0_kind() == OpKind::Register
                && raw.op1_kind() == OpKind::Register
                && raw.op0_register() == raw.op1_register() =>
        {
            insn.push(Effect::Move { to: part(raw, 0)?, from: Source::Const(0) });
        }
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::And | Mnemonic::Or | Mnemonic::Xor => {
            let op = match raw.mnemonic() {
                Mnemonic::Add => BinaryOp::Add,
                Mnemonic::Sub => BinaryOp::Sub,
                Mnemonic::And => BinaryOp::And,
                Mnemonic::Or => BinaryOp::Or,
                _ => BinaryOp::Xor,
            };
            insn.push(arithmetic(op, part(raw, 0)?, source(raw, 1)?));
        }
        Mnemonic::Inc | Mnemonic::Dec => {
            let op = if raw.mnemonic() == Mnemonic::Inc { BinaryOp::Add } else { BinaryOp::Sub };
            insn.push(arithmetic(op, part(raw, 0)?, Source::Const(1)));
        }
        // With a 16-bit operand the stack pointer moves by 2.
        Mnemonic::Push | Mnemonic::Pop if raw.stack_pointer_increment().abs() != 8 => return None,
        Mnemonic::Push => {
            // The value is that before the stack pointer changes; a push of it is not tracked.
            let from = source(raw, 0).filter(|from| *from != Source::Reg(SP));
            let from = if raw.op0_kind() == OpKind::Memory { None } else { from };
            if raw.op0_kind() == OpKind::Memory {
                insn.copies = Some((place(raw), 8));
            }
            insn.push(Effect::add(SP, -8));
            insn.push(Effect::Store { place: Place::at(SP, 0), from, size: 8 });
        }
        Mnemonic::Pop => {
            let to = Part::whole(register(raw, 0)?.register);
            insn.push(Effect::Load { to, place: Place::at(SP, 0), size: 8 });
            if to.register != SP {
                insn.push(Effect::add(SP, 8));
            }
        }
        Mnemonic::Leave => {
            insn.push(Effect::Move { to: Part::whole(SP), from: Source::Reg(BP) });
            insn.push(Effect::Load { to: Part::whole(BP), place: Place::at(SP, 0), size: 8 });
            insn.push(Effect::add(SP, 8));
        }
        // The carry flag in all bits.
        Mnemonic::Sbb if raw.op0_register() == raw.op1_register() => {
            insn.push(Effect::Move { to: register(raw, 0)?, from: Source::Either(0, u64::MAX) });
        }
        _ if is_conditional && raw.op_count() == 1 && raw.op0_kind() == OpKind::Register => {
            insn.push(Effect::Move { to: part(raw, 0)?, from: Source::Either(0, 1) });
        }
        _ if is_conditional && raw.op_count() == 2 => {
            let (to, second) = (register(raw, 0)?, source(raw, 1)?);
            insn.push(Effect::Either { to, first: Source::Reg(to.register), second });
        }
        _ if matches!(insn.flow, Flow::Next | Flow::Halt) => return None,
        // What calls and syscalls change is known from the convention.
        _ => {}
    }
    Some(())
}

/// An operation whose first operand is its result.
fn arithmetic(op: BinaryOp, to: Part, right: Source) -> Effect {
    let left = if to.size >= 4 { Source::Reg(to.register) } else { Source::Part(to) };
    Effect::Binary { op, to, left, right }
}

/// LEA of a register times a constant: the destination is computed in steps, unless it is the base as well.
fn scaled(raw: &Instruction, to: Part, insn: &mut Insn) -> Option<()> {
    let (base, index) = (raw.memory_base(), raw.memory_index());
    if !index.is_gpr64() || !(base == Register::None || base.is_gpr64()) {
        return None;
    }
    let base = base.is_gpr64().then_some(base.number() as Reg);
    let index = index.number() as Reg;
    let (own, whole) = (Source::Reg(to.register), Part::whole(to.register));
    let mut times = |factor: u32| {
        let (left, right) = (Source::Reg(index), Source::Const(factor.into()));
        insn.push(Effect::Binary { op: BinaryOp::Mul, to: whole, left, right });
    };
    match base {
        // The sum of a register with itself.
        Some(base) if base == index => times(raw.memory_index_scale() + 1),
        Some(base) if base == to.register => return None,
        Some(base) => {
            times(raw.memory_index_scale());
            let right = Source::Reg(base);
            insn.push(Effect::Binary { op: BinaryOp::Add, to: whole, left: own, right });
        }
        None => times(raw.memory_index_scale()),
    }
    let right = Source::Const(raw.memory_displacement64());
    insn.push(Effect::Binary { op: BinaryOp::Add, to, left: own, right });
    Some(())
}

fn is_high(register: Register) -> bool {
    matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}

/// The registers and the memory that any other instruction writes.
fn writes(raw: &Instruction, factory: &mut InstructionInfoFactory, insn: &mut Insn) {
    let is_write = |access: OpAccess| {
        matches!(
            access,
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        )
    };
    let info = factory.info(raw);
    let is_read = |access: OpAccess| !matches!(access, OpAccess::Write | OpAccess::None);
    for used in info.used_registers().iter().filter(|used| is_read(used.access())) {
        let register = used.register().full_register();
        if register.is_gpr64() {
            insn.reads |= 1 << register.number();
        }
    }
    let operands = || 0..raw.op_count();
    if operands().any(|operand| raw.op_kind(operand) == OpKind::Memory)
        && let Place { base: Some(base), is_known: true, .. } = place(raw)
        && !operands().any(|operand| part(raw, operand).is_some_and(|one| one.register == base))
    {
        insn.reads &= !(1 << base);
    }
    if info.used_memory().iter().any(|used| is_read(used.access())) {
        let is_explicit = operands().any(|operand| raw.op_kind(operand) == OpKind::Memory);
        let place = if is_explicit { place(raw) } else { Place::unknown() };
        insn.copies = Some((place, size_of_memory(raw)));
    }
    for used in info.used_registers().iter().filter(|used| is_write(used.access())) {
        let register = used.register().full_register();
        if register.is_gpr64() {
            insn.push(Effect::Forget(register.number() as Reg));
        }
    }
    if info.used_memory().iter().any(|used| is_write(used.access())) {
        let is_first = raw.op_count() > 0 && raw.op0_kind() == OpKind::Memory;
        let place = if is_first { place(raw) } else { Place::unknown() };
        let size = size_of_memory(raw);
        insn.push(Effect::Store { place, from: None, size: size.max(8) });
    }
}
