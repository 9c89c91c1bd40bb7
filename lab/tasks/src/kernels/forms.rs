//! Forms of instructions whose costs are measured.

use callgate::{Arch, Endian, Verdict};
use callgate_bpf::SyscallTable;
use callgate_codegen::native::{Constant, Kernel, Next};
use callgate_core::{Insn, Op, Program, Word};

use super::plan::Call;
use super::programs::DENIED;
use callgate_tasks::Result;

/// A form of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `ld` of arch, number, low half or high half of an argument.
    Load(usize),
    /// `and` with a constant below 0x80000000, or above.
    And {
        high: bool,
    },
    Sub,
    Tax,
    Constant,
    Shift,
    Ja,
    Jump {
        op: Op,
        constant: Constant,
        next: Next,
        result: bool,
    },
    /// `jeq` with a short constant whose true side is next and whose false side, 60 instructions away, is followed.
    FarJump,
}

/// A form on a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeated {
    pub(super) form: Form,
    arch: Arch,
}

/// The number of instructions over which [`Form::FarJump`] jumps: more than 127 bytes of machine code, the maximum of the
/// short jumps of x86-64.
const FAR: usize = 60;

impl Form {
    /// All forms.
    fn all() -> Vec<Form> {
        let mut forms: Vec<Form> = (0..4).map(Form::Load).collect();
        forms.extend([false, true].map(|high| Form::And { high }));
        forms.extend([Form::Sub, Form::Tax, Form::Constant, Form::Shift, Form::Ja, Form::FarJump]);
        for op in Kernel::JUMPS {
            for constant in Constant::ALL {
                for next in Next::ALL {
                    let jump = |result| Form::Jump { op, constant, next, result };
                    forms.extend([true, false].map(jump));
                }
            }
        }
        forms
    }
}

/// Programs whose first, middle or last `ret` is executed, after one with a single `ret`; each with its syscall. All
/// permit, so that several can be installed on top of each other.
pub(super) fn with_returns(arch: Arch) -> Result<Vec<(Call, Program)>> {
    let (permit, _) = returns();
    let load = load(arch.endian());
    let jump = |jt, jf| Insn::branch(Op::JeqK, constant(Constant::Short), jt, jf);
    let programs = [
        (true, vec![load, permit]),
        (true, vec![load, jump(0, 1), permit, permit]),
        (true, vec![load, jump(1, 0), permit, permit, permit]),
        (false, vec![load, jump(0, 1), permit, permit]),
    ];
    let with_call = |(is_equal, insns)| {
        let argument = if is_equal { constant(Constant::Short) } else { 0 };
        Ok((call(arch, argument)?, checked(insns)?))
    };
    programs.into_iter().map(with_call).collect()
}

impl Repeated {
    /// All forms.
    pub(super) fn all(arch: Arch) -> Vec<Repeated> {
        Form::all().into_iter().map(|form| Repeated { form, arch }).collect()
    }

    /// A program with few repetitions of the form, and one with many.
    pub(super) fn programs(self) -> Result<[Program; 2]> {
        let [few, many] = self.repetitions();
        Ok([self.program(few)?, self.program(many)?])
    }

    /// How many more repetitions the second program has.
    pub(super) fn difference(self) -> f64 {
        let [few, many] = self.repetitions();
        (many - few) as f64
    }

    fn repetitions(self) -> [usize; 2] {
        if self.form == Form::FarJump { [4, 64] } else { [4, 104] }
    }

    fn program(self, repetitions: usize) -> Result<Program> {
        let (permit, deny) = returns();
        let length = self.unit(0).len();
        let mut insns = vec![load(self.arch.endian())];
        for left in (0..repetitions).rev() {
            insns.extend(self.unit(left * length));
        }
        insns.extend([permit, deny]);
        checked(insns)
    }

    /// One repetition, before so many instructions and a permission and a denial.
    fn unit(self, left: usize) -> Vec<Insn> {
        let (_, deny) = returns();
        let after = |insn: Insn, denials: usize| {
            let mut insns = vec![insn];
            insns.resize(1 + denials, deny);
            insns
        };
        match self.form {
            Form::Load(word) => {
                let words = [Some(Word::ARCH), Some(Word::NR), Word::arg_low(0), Word::arg_high(0)];
                let word = words.get(word).copied().flatten().unwrap_or(Word::NR);
                after(Insn::new(Op::LdWordAbs, word.offset(self.arch.endian())), 0)
            }
            Form::And { high: false } => after(Insn::new(Op::AndK, 0x7fff_ff7f), 0),
            Form::And { high: true } => after(Insn::new(Op::AndK, 0xffff_ff7f), 0),
            Form::Sub => after(Insn::new(Op::SubK, 1), 0),
            Form::Tax => after(Insn::new(Op::Tax, 0), 0),
            Form::Constant => after(Insn::new(Op::LdImm, 0x1234_5678), 0),
            Form::Shift => after(Insn::new(Op::RshX, 0), 0),
            Form::Ja => after(Insn::new(Op::Ja, 1), 1),
            Form::FarJump => {
                let k = constant(Constant::Short);
                after(Insn::branch(Op::JeqK, k, 0, FAR as u8), FAR)
            }
            Form::Jump { op, constant: class, next, result } => {
                let jump =
                    |jt: usize, jf: usize| Insn::branch(op, constant(class), jt as u8, jf as u8);
                match (next, result) {
                    (Next::True, true) => after(jump(0, left + 1), 0),
                    (Next::True, false) => after(jump(0, 1), 1),
                    (Next::False, true) => after(jump(1, 0), 1),
                    (Next::False, false) => after(jump(left + 1, 0), 0),
                    (Next::Neither, true) => after(jump(2, 1), 2),
                    (Next::Neither, false) => after(jump(1, 2), 2),
                }
            }
        }
    }

    /// The syscall with the argument for which the form is executed as it says.
    pub(super) fn call(self) -> Result<Call> {
        let argument = match self.form {
            Form::Jump { op: Op::JeqK, constant: class, result: true, .. } => constant(class),
            Form::Jump { result: true, .. } => u32::MAX,
            _ => 0,
        };
        call(self.arch, argument)
    }
}

/// A constant of a class.
fn constant(class: Constant) -> u32 {
    match class {
        Constant::Short => 5,
        Constant::Half => 0x1235,
        Constant::Long => 0x1234_5678,
        Constant::High => 0x9234_5678,
    }
}

fn call(arch: Arch, argument: u32) -> Result<Call> {
    let number = arch.number("getpid").ok_or_else(|| format!("{arch} does not have getpid"))?;
    Ok(Call::plain(number, [argument.into(), 0, 0, 0, 0, 0]))
}

/// `ld` of the first argument: the kernel caches no verdict.
fn load(endian: Endian) -> Insn {
    let offset = Word::arg_low(0).map_or(0, |word| word.offset(endian));
    Insn::new(Op::LdWordAbs, offset)
}

/// A permission and a denial.
fn returns() -> (Insn, Insn) {
    (Insn::new(Op::RetK, Verdict::ALLOW.0), Insn::new(Op::RetK, DENIED.0))
}

fn checked(insns: Vec<Insn>) -> Result<Program> {
    Program::new(insns).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use callgate::SeccompData;

    use super::*;

    #[test]
    fn the_constants_have_their_classes() {
        for class in Constant::ALL {
            assert_eq!(Constant::of(constant(class)), class);
        }
    }

    fn data(arch: Arch, call: Call) -> SeccompData {
        SeccompData { arch: arch.token(), args: call.args(), ..SeccompData::default() }
    }

    /// Each repetition is executed once, and the syscall is permitted.
    #[test]
    fn forms_are_executed_as_often_as_they_are_repeated() {
        for arch in [Arch::X86_64, Arch::S390x] {
            for form in Repeated::all(arch) {
                let data = data(arch, form.call().unwrap());
                let run = |program: Program| program.run(&data, arch.endian());
                let [few, many] = form.programs().unwrap().map(run);
                assert_eq!([few.verdict, many.verdict], [Verdict::ALLOW; 2], "{form:?}");
                let more = (many.executed - few.executed) as f64;
                assert_eq!(more, form.difference(), "{form:?}");
            }
        }
    }

    #[test]
    fn each_jump_has_the_next_instruction_that_it_says() {
        for repeated in Repeated::all(Arch::X86_64) {
            let Form::Jump { next, .. } = repeated.form else { continue };
            let jump = repeated.unit(7)[0];
            assert_eq!(Next::of(jump.jt.into(), jump.jf.into()), next, "{repeated:?}");
        }
    }

    #[test]
    fn the_return_is_executed_that_is_measured() {
        for (place, (call, program)) in [0, 0, 1, 1].iter().zip(with_returns(Arch::S390x).unwrap())
        {
            let data = data(Arch::S390x, call);
            let returns = program.iter().filter(|insn| insn.op == Op::RetK).count();
            let mut insns = program.clone().into_insns();
            let at = insns.len() - returns + place;
            insns[at].k = Verdict::LOG.0;
            let verdict = |program: &Program| program.run(&data, Endian::Big).verdict;
            assert_eq!(verdict(&program), Verdict::ALLOW);
            assert_eq!(verdict(&checked(insns).unwrap()), Verdict::LOG);
        }
    }
}
