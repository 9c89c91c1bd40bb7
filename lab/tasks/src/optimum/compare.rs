//! Compares the generator's program for one function with the best one.

use super::generator::{Measured, Subject, VERDICTS};
use super::instances::Instance;
use super::search::{Found, cheapest};
use callgate_codegen::Aim;
use callgate_tasks::Result;

/// The result for one function.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) generated: Measured,
    pub(super) best: Best,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Best {
    /// The generated program costs the least.
    Generated,
    /// This one.
    Other(Measured),
    /// The search was not finished; the best program that it found.
    Unknown(Option<Measured>),
}

/// Compares. The best program is checked and proved like the generated one.
pub(super) fn compare(instance: &Instance, aim: Aim, budget: u64) -> Result<Comparison> {
    let cost = instance.cost(aim);
    let mut subject = Subject::new(&instance.function, instance.kind.word())?;
    let program = subject.generated(aim, &instance.cost(Aim::Speed))?;
    let generated = subject.proved(&program, &cost)?;
    // A program outside of the class may be better than all of it.
    let bound = generated.cost(cost.size_price);
    let best = match cheapest(&instance.function, &cost, bound, budget) {
        Found::Nothing => Best::Generated,
        Found::Best(code, least) => {
            let found = measured(&mut subject, &code, instance)?;
            let of_aim = match aim {
                Aim::Size => found.insns,
                Aim::Speed | Aim::Quick => found.cost(cost.size_price),
            };
            if of_aim != least {
                return Err(format!("a program costs {of_aim}, not {least}: {code:?}"));
            }
            Best::Other(found)
        }
        Found::Unknown(known) => Best::Unknown(match known {
            Some((code, _)) => Some(measured(&mut subject, &code, instance)?),
            None => None,
        }),
    };
    let generated = subject.proved(&program, &instance.cost(Aim::Speed))?;
    Ok(Comparison { generated, best })
}

fn measured(
    subject: &mut Subject,
    code: &super::code::Code,
    instance: &Instance,
) -> Result<Measured> {
    let verdicts = VERDICTS.get(..instance.function.class_count()).unwrap_or_default();
    let program = Subject::program(code.program(subject.offset(), verdicts))?;
    subject.proved(&program, &instance.cost(Aim::Speed))
}
