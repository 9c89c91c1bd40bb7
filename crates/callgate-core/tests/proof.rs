//! The verdict of the proof on programs that were changed in one place.

use std::cell::Cell;

use callgate_core::diagram::Budget;
use callgate_core::{Endian, Insn, LongProgram, Meaning, Op, Program, SeccompData, Verdict};
use callgate_testing::random::programs::{program, realistic};
use callgate_testing::random::{Constants, Rng, cases};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const BUDGET: Budget = Budget { nodes: 200_000, steps: 1_000_000 };

/// Changes one instruction so that the kernel still accepts the program; `None` if it does not.
fn changed(original: &Program, rng: &mut Rng) -> Option<Program> {
    let mut insns: Vec<Insn> = original.iter().copied().collect();
    let insn = rng.below(insns.len());
    let insn = insns.get_mut(insn)?;
    match (insn.op.is_branch(), rng.below(3)) {
        (true, 0) => std::mem::swap(&mut insn.jt, &mut insn.jf),
        (true, 1) => insn.jt = insn.jt.wrapping_add(1),
        (false, 0) if insn.op == Op::RetK => insn.k = Verdict::trace(1).0,
        _ => insn.k ^= 1 << rng.below(32),
    }
    Program::new(insns).ok()
}

/// A changed program is accepted only if it agrees with the original; if it is refused, the interpreter confirms the
/// witness.
#[test]
fn a_changed_program_is_refused_with_a_witness_or_equivalent() {
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    let programs = (prop::collection::vec(realistic(), 1..60), any::<bool>(), any::<u64>());
    let result = TestRunner::new(cases(1500)).run(&programs, |(pieces, big, seed)| {
        let endian = if big { Endian::Big } else { Endian::Little };
        let original = program(&pieces, endian);
        let mut rng = Rng::new(seed);
        let Some(other) = changed(&original, &mut rng) else { return Ok(()) };
        let long = LongProgram::from(original.clone());
        let Ok(mut meaning) = Meaning::of_program(&long, endian, BUDGET) else { return Ok(()) };
        prop_assert_eq!(meaning.endian(), endian);
        prop_assert!(meaning.prove(&original).is_ok());
        let verdicts = |data: &SeccompData| {
            (original.run(data, endian).verdict, other.run(data, endian).verdict)
        };
        match meaning.prove(&other) {
            Ok(_) => {
                accepted.set(accepted.get() + 1);
                let constants = Constants::of_program(&original);
                for _ in 0..200 {
                    let data = constants.syscall(&mut rng);
                    let (wanted, given) = verdicts(&data);
                    prop_assert_eq!(given, wanted, "{:x?}", data);
                }
            }
            Err(error) if error.diagram_error().is_some() => prop_assert_eq!(error.witness(), None),
            Err(error) => {
                refused.set(refused.get() + 1);
                let witness = error.witness().expect("a witness");
                let (wanted, given) = verdicts(witness);
                prop_assert_ne!(given, wanted, "{}", error);
                let shown = format!("for example at {witness:x?}");
                prop_assert!(error.to_string().contains(&shown), "{}", error);
            }
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(accepted.get() > 0 && refused.get() > 0, "{accepted:?} accepted, {refused:?} refused");
}

/// If the budget does not suffice for the proof, the program is refused.
#[test]
fn a_proof_beyond_its_budget_is_an_error() {
    let product = Program::new(vec![
        Insn::new(Op::LdWordAbs, 24),
        Insn::new(Op::Tax, 0),
        Insn::new(Op::LdWordAbs, 16),
        Insn::new(Op::MulX, 0),
        Insn::branch(Op::JeqK, 0x1234_5678, 0, 1),
        Insn::new(Op::RetK, 0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ]);
    let allow = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)]).unwrap();
    let long = LongProgram::from(allow);
    let mut meaning = Meaning::of_program(&long, Endian::Little, BUDGET).unwrap();
    let error = meaning.prove(&product.unwrap()).unwrap_err();
    let reason = error.diagram_error().expect("an error of the diagram");
    assert!(reason.is_out_of_budget(), "{reason}");
    assert_eq!((error.witness(), error.to_string()), (None, reason.to_string()));
}
