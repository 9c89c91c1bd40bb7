//! The generator's program for a function of small values, and what it costs.

use super::function::{Function, HIGHER, MAX_CLASSES, VALUES, wide_value};
use super::search::Cost;
use callgate::{Arch, Endian, Program, SeccompData, Verdict};
use callgate_codegen::{
    Aim, Distribution, Effort, Instructions, Permission, WeightedSyscall, generate,
};
use callgate_core::diagram::{DiagramError, Func, Store, var_of};
use callgate_core::{Insn, Word};

/// The verdicts of the classes.
pub(super) const VERDICTS: [Verdict; MAX_CLASSES] =
    [Verdict::errno(1), Verdict::ALLOW, Verdict::LOG];

/// What a program costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// The number of instructions besides the load of the word at the start and one return per class.
    pub(super) insns: u32,
    /// The weighted number of executed instructions besides the load and the return.
    pub(super) executed: u32,
}

impl Measured {
    pub(super) fn cost(self, size_price: u32) -> u32 {
        self.executed + self.insns * size_price
    }
}

/// A function of a word.
pub(super) struct Subject {
    function: Function,
    word: Word,
    store: Store,
    func: Func,
}

impl Subject {
    pub(super) fn new(function: &Function, word: Word) -> Result<Subject, String> {
        let mut store = Store::default();
        let func = node(&mut store, function, word).map_err(|error| error.to_string())?;
        Ok(Subject { function: function.clone(), word, store, func })
    }

    /// The generator's program.
    pub(super) fn generated(&self, aim: Aim, cost: &Cost) -> Result<Program, String> {
        let (mut store, func) = self.store.copy(self.func).map_err(|error| error.to_string())?;
        let weighted = (0..2 * HIGHER).filter(|value| cost.weights[usize::from(*value)] > 0);
        let syscalls: Vec<WeightedSyscall> = weighted
            .map(|value| WeightedSyscall {
                token: Arch::X86_64.token(),
                nr: wide_value(value),
                weight: f64::from(cost.weights[usize::from(value)]),
                permission: match self.function.class(value) {
                    1 => Permission::Always,
                    _ => Permission::Never,
                },
            })
            .collect();
        let generated = generate(
            &mut store,
            func,
            &syscalls,
            Distribution::ByWeight,
            aim,
            Instructions::All,
            Endian::Little,
            Effort::Full,
            &|| None,
        );
        Program::new(generated.map_err(|error| error.to_string())?.insns)
            .map_err(|error| error.to_string())
    }

    /// Proves that a program computes the function, and measures it.
    pub(super) fn proved(&mut self, program: &Program, cost: &Cost) -> Result<Measured, String> {
        self.store.reset_steps();
        let made = self.store.program(program, Endian::Little);
        if made.map_err(|error| error.to_string())? != self.func {
            return Err("the program computes another function".to_owned());
        }
        let fixed = 1 + self.function.class_count();
        let insns = program.len().saturating_sub(fixed) as u32;
        let executed = (0..VALUES as u8).map(|value| {
            let weight = cost.weights[usize::from(value)];
            if weight == 0 {
                return 0;
            }
            let mut data = SeccompData::default();
            data.set_word(self.word, wide_value(value));
            weight * (program.run(&data, Endian::Little).executed as u32).saturating_sub(2)
        });
        Ok(Measured { insns, executed: executed.sum() })
    }

    pub(super) fn offset(&self) -> u32 {
        self.word.offset(Endian::Little)
    }

    /// A program of these instructions.
    pub(super) fn program(insns: Vec<Insn>) -> Result<Program, String> {
        Program::new(insns).map_err(|error| error.to_string())
    }
}

/// The function of a word in a store.
fn node(store: &mut Store, function: &Function, word: Word) -> Result<Func, DiagramError> {
    let mut verdicts = Vec::new();
    for verdict in VERDICTS {
        verdicts.push(store.verdict(verdict)?);
    }
    let half = |store: &mut Store, first: u8| {
        let classes = (first..first + HIGHER).map(|value| usize::from(function.class(value)));
        let mut level: Vec<Func> =
            classes.map(|class| verdicts[class.min(MAX_CLASSES - 1)]).collect();
        for bit in 0..6 {
            let pairs = level.chunks_exact(2);
            level = pairs
                .map(|pair| store.make(var_of(word, bit), pair[0], pair[1]))
                .collect::<Result<_, _>>()?;
        }
        Ok::<Func, DiagramError>(level[0])
    };
    let (mut node, higher) = (half(store, 0)?, half(store, HIGHER)?);
    for bit in 6..32 {
        node = store.make(var_of(word, bit), node, higher)?;
    }
    Ok(node)
}
