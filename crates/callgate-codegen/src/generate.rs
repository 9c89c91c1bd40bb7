//! From a function to instructions, with fewer alternatives if the search exhausts the budget.

use callgate_bpf::Insn;
use callgate_bpf::data::Endian;
use callgate_proof::diagram::{DiagramError, Func, Store};

use crate::cost::{Aim, Model};
use crate::weights::WeightedSyscall;
use crate::{Instructions, layout, lower};

/// The number of functions of arguments for which all alternatives are tried. Real filters need at most some
/// thousands; beyond, code is generated without the expensive alternatives.
const EFFORT: u32 = 20_000;

/// The instructions of a program for a function. There may be more than the kernel accepts.
///
/// # Errors
/// If the diagram exceeds its budget; and, because of a defect, if the program contains an instruction that
/// `instructions` does not allow.
pub fn generate(
    store: &mut Store,
    root: Func,
    syscalls: &[WeightedSyscall],
    model: Model,
    aim: Aim,
    instructions: Instructions,
    endian: Endian,
) -> Result<Vec<Insn>, DiagramError> {
    let mut attempt = |effort: u32| -> Result<Vec<Insn>, DiagramError> {
        store.reset_steps();
        let mut lowering =
            lower::Lowering::new(store, root, syscalls, model, aim, instructions, effort);
        let entry = lowering.code(root)?;
        let graph = lowering.graph;
        let frequency = layout::frequencies(&graph, entry, syscalls, model);
        Ok(layout::lay_out(&graph, entry, &frequency, endian))
    };
    // If the search exhausts the budget, generate code without it.
    let insns = match attempt(EFFORT) {
        Err(error) if error.is_out_of_budget() => attempt(0)?,
        made => made?,
    };
    if insns.iter().any(|insn| !instructions.allows(insn.op)) {
        return Err(DiagramError::defect("a program contains only the permitted instructions"));
    }
    Ok(insns)
}
