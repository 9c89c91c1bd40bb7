//! The linker: from jump targets to distances.

use std::collections::HashMap;

use super::error::Errors;
use super::parser::{Parsed, Statement, Target, Targets};
use crate::diagnostic::{Diagnostic, Position, error};
use crate::token::quote;
use callgate_core::{Insn, MAX_INSNS, MAX_READ_INSNS};

/// How many instructions a branch can skip (its distances are bytes).
const BRANCH_REACH: usize = 255;

/// How many branches out of reach are reported one by one. More usually have the same cause: a piece of
/// code in the wrong place.
const FAR_SHOWN: usize = 5;

/// Resolves all targets. Those that cannot be resolved are reported and become 0.
pub(super) fn link(program: &Parsed<'_>, errors: &mut Errors) -> Vec<Insn> {
    let statements = &program.statements;
    if let Some(first_too_many) = statements.get(MAX_READ_INSNS) {
        let message = format!(
            "the program has {} instructions; at most {MAX_READ_INSNS} can be read, and the kernel accepts at most {MAX_INSNS}",
            statements.len()
        );
        let error = error(first_too_many.position, message);
        errors.push(error.help("make it smaller or split it into several filters"));
    }
    if statements.is_empty() && errors.is_empty() {
        errors.push(Diagnostic::error(None, "the text contains no instructions"));
    }
    let mut linker =
        Linker { labels: labels(program, errors), errors, far: 0, first_left_out: None };
    let insns = statements
        .iter()
        .enumerate()
        .map(|(index, statement)| linker.resolve(index, statement))
        .collect();
    if let Some(more @ 1..) = linker.far.checked_sub(FAR_SHOWN) {
        linker.error(
            linker.first_left_out,
            format!(
                "{more} more branches from here on skip more than {BRANCH_REACH} instructions"
            ),
            "move the skipped code to the end of the program, or place copies of the targets closer",
        );
    }
    insns
}

/// The index of each label.
fn labels<'a>(program: &Parsed<'a>, errors: &mut Errors) -> HashMap<&'a str, usize> {
    let mut labels = HashMap::new();
    for label in &program.labels {
        if label.index == program.statements.len() {
            let message = format!("label {} is not followed by an instruction", quote(label.name));
            errors.push(error(label.position, message).help("end the program with a `ret`"));
        }
        if let Some(before) = labels.insert(label.name, label.index) {
            let message =
                format!("label {} is already defined at instruction {before}", quote(label.name));
            errors.push(error(label.position, message));
        }
    }
    labels
}

struct Linker<'a, 'e> {
    labels: HashMap<&'a str, usize>,
    errors: &'e mut Errors,
    /// The number of branches out of reach.
    far: usize,
    /// The position of the first one that is not reported by itself.
    first_left_out: Option<Position>,
}

impl Linker<'_, '_> {
    fn resolve(&mut self, index: usize, statement: &Statement<'_>) -> Insn {
        let mut insn = statement.insn;
        match &statement.targets {
            Targets::None => {}
            Targets::Jump(target) => {
                insn.k = u32::try_from(self.distance(index, target)).unwrap_or(u32::MAX);
            }
            Targets::Branch { holds, fails } => {
                insn.jt = self.branch(index, holds);
                insn.jf = self.branch(index, fails);
            }
        }
        insn
    }

    fn branch(&mut self, index: usize, target: &Target<'_>) -> u8 {
        let distance = self.distance(index, target);
        u8::try_from(distance).unwrap_or_else(|_| {
            self.far += 1;
            if self.far <= FAR_SHOWN {
                self.error(
                    target.position(),
                    format!(
                        "the branch to {target} skips {distance} instructions; the limit is \
                         {BRANCH_REACH}"
                    ),
                    "branch to a `ja` in between, or place a copy of the target closer",
                );
            } else if self.far == FAR_SHOWN + 1 {
                self.first_left_out = target.position();
            }
            0
        })
    }

    /// The number of instructions between a jump and its target.
    fn distance(&mut self, index: usize, target: &Target<'_>) -> usize {
        let (at, position) = match *target {
            Target::Next => return 0,
            Target::Skip(distance, _) => return distance as usize,
            Target::Line(at, position) => (Some(at), position),
            Target::Label(name, position) => (self.labels.get(name).copied(), position),
        };
        let (message, help) = match (at, target) {
            (Some(at), _) if at > index => return at - index - 1,
            (Some(at), Target::Label(name, _)) => (
                format!(
                    "instruction {index} cannot jump to label {} at instruction {at}",
                    quote(name)
                ),
                "classic BPF only jumps forward",
            ),
            (Some(at), _) => (
                format!("instruction {index} cannot jump to instruction {at}"),
                "classic BPF only jumps forward",
            ),
            (None, label) => {
                (format!("label {label} is not defined"), "write `LABEL:` before an instruction")
            }
        };
        self.error(Some(position), message, help);
        0
    }

    fn error(&mut self, position: Option<Position>, message: String, help: &str) {
        self.errors.push(Diagnostic::error(position, message).help(help));
    }
}
