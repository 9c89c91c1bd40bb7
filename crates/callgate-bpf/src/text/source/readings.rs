//! Decides the questions of a text: the conditions that depend on names about which nothing is known. The text is read with
//! both answers to each.
//!
//! | the other answer | the question |
//! |---|---|
//! | has the same program | is not asked |
//! | is refused by a compiler (`#error`) | is not asked |
//! | has no program at all | is not asked, but a warning says what is assumed |
//! | has another program, or other errors | is an error |
//!
//! All questions that matter are asked together. Answers are also combined, because two may matter only together; the number
//! of readings is bounded, and a text with more combinations is asked about all of its questions.

use super::preprocess::Question;
use super::rows::Rows;
use crate::advice::Advice;
use crate::asm::{AsmError, Errors};
use crate::diagnostic::Diagnostic;
use crate::token::quote;
use callgate_core::{Arch, RawInsn};

/// The result of reading a text for one architecture, with one answer for each question.
pub(super) struct Reading {
    pub(super) result: Result<Rows, AsmError>,
    /// The instructions that were read, also if others have errors.
    pub(super) insns: Vec<RawInsn>,
    /// Whether there is a program, perhaps with errors.
    pub(super) has_program: bool,
    /// Errors in arrays without instructions.
    pub(super) ignored: Vec<Diagnostic>,
    pub(super) questions: Vec<Question>,
    /// Whether no compiler accepts the text.
    pub(super) is_rejected: bool,
    /// Which parts of conditionals are read.
    pub(super) parts: Vec<bool>,
    /// The architecture that the selected lines name, if they name exactly one.
    pub(super) arch: Option<Arch>,
}

impl Reading {
    /// Whether it may be what is meant.
    fn counts(&self) -> bool {
        !self.is_rejected && self.has_program
    }

    /// What another answer makes of this reading.
    fn compare(&self, other: &Reading) -> Other {
        let is_new = |error: &Diagnostic| !self.ignored.contains(error);
        match () {
            () if other.is_rejected => Other::Rejected,
            () if !other.has_program && !other.ignored.iter().any(is_new) => Other::Nothing,
            () if self.is_same(other) => Other::Same,
            () => Other::Differs,
        }
    }

    /// Whether two readings have the same program, or the same errors.
    fn is_same(&self, other: &Reading) -> bool {
        let is_same = match (&self.result, &other.result) {
            (Ok(_), Ok(_)) => true,
            (Err(one), Err(other)) => one == other,
            _ => false,
        };
        is_same && self.insns == other.insns
    }

    fn errors(&self) -> &[Diagnostic] {
        self.result.as_ref().err().map_or(&[], AsmError::diagnostics)
    }

    /// With errors that ask all questions.
    fn asking_all(self) -> Reading {
        let questions = self.questions.clone();
        self.asking(&questions, Vec::new())
    }

    /// With errors that ask questions, each once, and other errors.
    fn asking(self, questions: &[Question], others: Vec<Diagnostic>) -> Reading {
        let mut errors = Errors::default();
        for question in questions {
            errors.push_new(question.error.clone());
        }
        errors.extend(others);
        match errors.check() {
            Ok(()) => self,
            Err(error) => Reading { result: Err(error), ..self },
        }
    }

    /// With warnings about answers without which the text has no program.
    fn assuming(mut self, assumed: &[usize], answers: &[bool]) -> Reading {
        let Ok(rows) = &mut self.result else { return self };
        for at in assumed {
            let Some(Question { error, tested }) = self.questions.get(*at) else { continue };
            let holds = answers.get(*at).copied().unwrap_or(true);
            let (what, help) = match tested {
                Some((name, is_negated)) => {
                    let state = if holds == *is_negated { "not defined" } else { "defined" };
                    let help = Some(Advice::Define(name.clone()));
                    (format!("{} is taken as {state}", quote(name)), help)
                }
                None if holds => ("this condition is taken to hold".to_owned(), None),
                None => ("this condition is taken not to hold".to_owned(), None),
            };
            let message = format!("{what}: otherwise this text has no program");
            let warning = Diagnostic::warning(error.position, message);
            let warning = match help {
                Some(help) => warning.help(help),
                None => warning,
            };
            if !rows.warnings.contains(&warning) {
                rows.warnings.push(warning);
            }
        }
        self
    }
}

/// What is read with another answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Other {
    Same,
    Differs,
    /// A compiler refuses the text.
    Rejected,
    /// There is no program.
    Nothing,
}

/// All combinations of answers, in their order.
#[derive(Default)]
struct Answers(Vec<bool>);

impl Answers {
    /// The next combination after one with so many questions; `false` if it was the last one.
    fn next(&mut self, questions: usize) -> bool {
        self.0.resize(questions.max(self.0.len()), true);
        while self.0.last() == Some(&false) {
            self.0.pop();
        }
        self.0.last_mut().map(|last| *last = false).is_some()
    }
}

/// Reads a text with at most so many combinations of answers, and returns the reading that is meant, or the questions that
/// matter as errors.
pub(super) fn decided(read: &dyn Fn(&[bool]) -> Reading, most: usize, is_strict: bool) -> Reading {
    let mut left = most;
    let mut answers = Answers::default();
    let first = read(&answers.0);
    if first.questions.is_empty() {
        return first;
    }
    // The first reading that may be meant, and its answers.
    let first_asked = first.questions.len();
    let (mut base, mut asked) = (first, first_asked);
    while !base.counts() {
        left = left.saturating_sub(1);
        if !answers.next(asked) {
            return base;
        }
        if left == 0 {
            return base.asking_all();
        }
        let next = read(&answers.0);
        asked = next.questions.len();
        if next.counts() || base.is_rejected {
            base = next;
        }
    }
    let mut chosen = answers.0;
    chosen.resize(base.questions.len(), true);
    let (mut differing, mut assumed) = (Vec::new(), Vec::new());
    // Errors that no answer avoids.
    let mut errors = base.errors().to_vec();
    for at in 0..chosen.len() {
        if left == 0 {
            return base.asking_all();
        }
        left -= 1;
        let mut flipped: Vec<bool> = chosen.iter().take(at).copied().collect();
        flipped.push(!chosen.get(at).copied().unwrap_or(true));
        let other = read(&flipped);
        match base.compare(&other) {
            Other::Same | Other::Rejected => {}
            Other::Nothing if !is_strict => assumed.push(at),
            Other::Nothing => differing.push(at),
            Other::Differs => {
                errors.retain(|error| other.errors().contains(error));
                differing.push(at);
            }
        }
    }
    if !differing.is_empty() {
        let questions = differing.iter().filter_map(|at| base.questions.get(*at));
        let questions: Vec<Question> = questions.cloned().collect();
        return base.asking(&questions, errors);
    }
    // Two answers may matter only together, and one may lead to another question.
    let (mut answers, mut asked) = (Answers::default(), first_asked);
    while answers.next(asked) {
        if left == 0 {
            return base.asking_all();
        }
        left -= 1;
        let other = read(&answers.0);
        if base.compare(&other) == Other::Differs {
            return base.asking_all();
        }
        asked = other.questions.len();
    }
    base.assuming(&assumed, &chosen)
}
