//! From a function to instructions.

use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::{Cases, Endian, SeccompData};

use crate::code::Graph;
use crate::cost::Aim;
use crate::layout::{Program, lay_out};
use crate::rules::Rules;
use crate::weights::{Distribution, WeightedSyscall, shares};
use crate::{Instructions, Result, lower};

/// How many alternatives are tried. They create nodes, so code may still be generated with the least effort if the
/// search exhausts the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// All alternatives for 20,000 functions of arguments. Real filters need at most some thousands; beyond, code is
    /// generated without the expensive alternatives.
    Full,
    /// No expensive alternatives.
    Least,
}

/// A program for a function, of the layout of the store; for io_uring requests, the weighted syscalls are opcodes, with any
/// arch token. With patches, if the function [compares with variables](Store::variable_test). `cases` makes the rules
/// of the function, if they are known: code from them is used where it is better than what the diagram suggests.
///
/// # Errors
/// If the diagram exceeds its budget; and, because of a defect, if the program contains an instruction that
/// `instructions` does not allow.
#[allow(clippy::too_many_arguments)]
pub fn generate<'c>(
    store: &mut Store,
    root: Func,
    syscalls: &[WeightedSyscall],
    distribution: Distribution,
    aim: Aim,
    instructions: Instructions,
    endian: Endian,
    effort: Effort,
    cases: &'c dyn Fn() -> Option<&'c Cases>,
) -> Result<Program> {
    // The number of functions of arguments for which all alternatives are tried.
    let effort = match effort {
        Effort::Full if aim != Aim::Quick => 20_000,
        _ => 0,
    };
    let shares = shares(syscalls, distribution);
    let weighted = (syscalls, &shares.all[..]);
    let mut rules = Rules::new(cases, root, (aim, instructions));
    let mut by_rules = |store: &Store, of: (Func, &[SeccompData]), graph: &mut Graph| {
        rules.codes(store, of, graph)
    };
    let how = (aim, instructions, effort);
    let mut lowering = lower::Lowering::new(store, root, weighted, how, &mut by_rules);
    let entry = lowering.code(root)?;
    let graph = lowering.graph;
    let program = lay_out(&graph, entry, (syscalls, &shares), (store.layout(), endian), aim);
    if program.insns.iter().any(|insn| !instructions.allows(insn.op)) {
        return Err(DiagramError::defect("a program contains only the permitted instructions"));
    }
    Ok(program)
}
