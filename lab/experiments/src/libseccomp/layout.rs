//! The places of shared blocks, and trampolines for jumps that cannot reach them.
//!
//! From the end of the chain on, each target of a jump that has no place yet is placed after the block with that jump. Then,
//! again from the end, a target that is out of reach gets a trampoline (a copy of the return, or a `ja`) after the block
//! with the jump; other jumps to the same target use it, too.

use callgate_core::{Insn, Op};

use super::blocks::{Accumulator, Block, Blocks, Id, Step};

/// The maximum displacement of a conditional jump.
const REACH: usize = 255;

/// The instructions.
pub(super) fn write(blocks: Blocks) -> Vec<Insn> {
    let mut chain = place(blocks);
    bring_within_reach(&mut chain);
    let mut insns = Vec::new();
    for (index, block) in chain.iter().enumerate() {
        for (number, step) in block.steps.iter().enumerate() {
            let behind = block.steps.len() - (number + 1);
            let mut insn = step.insn;
            if step.insn.op == Op::Ja {
                // The target is the last block of that name; a `ja` to it has the name, too.
                let last = chain.iter().rposition(|block| Some(block.id) == step.taken);
                let skipped = last.map_or(0, |last| length(&chain[index + 1..last.max(index + 1)]));
                insn.k = (behind + skipped) as u32;
            } else {
                let distance = |to: Option<Id>| match to {
                    Some(to) => {
                        let rest = chain[index + 1..].iter().take_while(|block| block.id != to);
                        behind + rest.map(|block| block.steps.len()).sum::<usize>()
                    }
                    None => 0,
                };
                // Both fit after `bring_within_reach`.
                insn.jt = distance(step.taken) as u8;
                insn.jf = distance(step.otherwise) as u8;
            }
            insns.push(insn);
        }
    }
    insns
}

fn length(blocks: &[Block]) -> usize {
    blocks.iter().map(|block| block.steps.len()).sum()
}

/// The chain with all targets of jumps.
fn place(blocks: Blocks) -> Vec<Block> {
    let Blocks { mut chain, all, mut placed } = blocks;
    let mut index = chain.len();
    while let Some(before) = index.checked_sub(1) {
        index = before;
        let targets = chain[index].steps.iter().rev().flat_map(|step| [step.taken, step.otherwise]);
        let Some(id) = targets.flatten().find(|id| !placed[*id]) else { continue };
        placed[id] = true;
        let mut block = all[id].clone();
        if let Some(offset) = block.start.offset
            && block.start != chain[index].end
        {
            if block.start.mask != u32::MAX {
                block.steps.insert(0, Step::new(Op::AndK, block.start.mask));
            }
            block.steps.insert(0, Step::new(Op::LdWordAbs, offset));
            block.start = Accumulator::UNKNOWN;
        }
        chain.insert(index + 1, block);
        index = chain.len();
    }
    chain
}

fn bring_within_reach(chain: &mut Vec<Block>) {
    let mut index = chain.len();
    while let Some(before) = index.checked_sub(1) {
        index = before;
        let mut inserted = false;
        for number in (0..chain[index].steps.len()).rev() {
            let step = chain[index].steps[number];
            if step.insn.op == Op::Ja {
                continue;
            }
            for to in [step.taken, step.otherwise].into_iter().flatten() {
                if let Some(closer) = closer(chain, index, number, to) {
                    chain.insert(index + 1, closer);
                    inserted = true;
                }
            }
        }
        if inserted {
            index += 1;
        }
    }
}

/// A trampoline for a jump, if its target is out of reach.
fn closer(chain: &[Block], index: usize, number: usize, to: Id) -> Option<Block> {
    let target = chain.iter().rfind(|block| block.id == to)?;
    let mut skipped = chain[index].steps.len() - (number + 1);
    for block in &chain[index + 1..] {
        if block.id == to {
            return (skipped > REACH).then(|| copy(target));
        }
        if skipped >= REACH {
            break;
        }
        skipped += block.steps.len();
    }
    Some(copy(target))
}

fn copy(target: &Block) -> Block {
    let step = match target.steps.as_slice() {
        [only] if only.insn.op == Op::RetK => *only,
        _ => Step { taken: Some(target.id), ..Step::new(Op::Ja, 0) },
    };
    let unknown = Accumulator::UNKNOWN;
    Block { id: target.id, steps: vec![step], start: unknown, end: unknown }
}
