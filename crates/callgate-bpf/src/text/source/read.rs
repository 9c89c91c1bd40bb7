//! Reads a text: detects its language and its architecture, and tries both answers to each condition that depends on an
//! unknown name.

use crate::advice::Advice;
use std::collections::HashSet;

use super::super::options::{Definition, TextOptions};
use super::changed::changed_field;
use super::declared::{declared, declares};
use super::expand::Made;
use super::field::{Constants, Context, Fields};
use super::headers::{FamilyId, family};
use super::integer::Model;
use super::literal::Literals;
use super::macros::DEFINITIONS;
use super::pairs::Pairs;
use super::part::{array_name, other_part};
use super::predefined::{Defined, defined};
use super::preprocess::{Before, Preprocessed, expand_only, preprocess};
use super::rows::{Reader, Rows};
use super::types::Types;
use super::uses::{Origin, changing_use};
use crate::asm::{AsmError, Errors};
use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::lexer::{Language, Lexed, join, lex};
use crate::symbols::{Names, only_arch_in};
use crate::token::Token;
use callgate_core::{Arch, RawInsn};

/// The most readings of a text, each with other answers to its unknown conditions.
const MAX_READINGS: usize = 64;
/// The most tokens of all readings after the second one. Two readings are always made.
const MAX_READ_TOKENS: usize = 4_000_000;

/// Reads all rows.
pub(in super::super) fn rows(text: &str, options: &TextOptions) -> Result<Rows, AsmError> {
    let known = join(DEFINITIONS);
    let given = given_text(&options.definitions);
    let given = join(&given);
    if let Some(error) = given.tokens()?.errors.first() {
        let message = format!("a given definition is not read: {}", error.message);
        return Err(Diagnostic::error(None, message).into());
    }
    let joined = join(text);
    let lexed = joined.tokens()?;
    let language = Language::of(&lexed.tokens);
    let Lexed { tokens, errors } = match language {
        Language::C => lexed,
        other => {
            drop(lexed);
            lex(text, other)?
        }
    };
    let source = Source {
        text,
        language,
        tokens: &tokens,
        errors: &errors,
        known: &known.tokens()?.tokens,
        given: &given.tokens()?.tokens,
        options,
    };
    source.read()
}

/// The definitions of the caller as lines of C.
fn given_text(definitions: &[Definition]) -> String {
    let line = |one: &Definition| Some(format!("#define {} {}\n", one.name(), one.value()?));
    definitions.iter().filter_map(line).collect()
}

struct Source<'s, 'a> {
    text: &'a str,
    language: Language,
    tokens: &'s [Token<'a>],
    errors: &'s [Diagnostic],
    known: &'s [Token<'a>],
    given: &'s [Token<'a>],
    options: &'s TextOptions,
}

/// The result of reading a text for one architecture, with one answer for each unknown condition.
struct Reading {
    result: Result<Rows, AsmError>,
    questions: Vec<Diagnostic>,
    is_rejected: bool,
    /// Which parts of conditionals are read.
    parts: Vec<bool>,
    /// The architecture that the selected lines name, if they name exactly one.
    arch: Option<Arch>,
}

impl<'a> Source<'_, 'a> {
    /// Reads the text for the given architecture. Without one, reads it for the architecture that it names, if it names
    /// exactly one, or else for the usual one.
    fn read(&self) -> Result<Rows, AsmError> {
        if let Some(arch) = self.options.arch {
            return self.read_for(Some(arch)).result;
        }
        let usual = self.options.usual_arch;
        let first = self.read_for(usual);
        let is_undecided = first.is_rejected || !first.questions.is_empty();
        let named = match first.arch {
            None if first.result.is_err() && is_undecided => only_arch_in(self.tokens),
            named => named,
        };
        let Some(arch) = named.filter(|arch| Some(*arch) != usual) else { return first.result };
        let second = self.read_for(Some(arch));
        if usual.is_some() && second.result.is_ok() && depends_on_arch(&first, &second) {
            let message = format!(
                "the text names {arch}, but its conditionals select other instructions for another architecture"
            );
            return Err(ask_arch(message));
        }
        match (second.arch == Some(arch), second.result.is_err() && first.arch.is_none()) {
            (_, true) => first.result,
            (true, false) => second.result,
            (false, false) => Err(ask_arch(format!(
                "the text names {arch}, but the lines that its conditionals select for {arch} do not"
            ))),
        }
    }

    /// Reads the text for an architecture, once with each combination of answers to its unknown conditions. It is an error if
    /// two of them lead to different programs.
    fn read_for(&self, arch: Option<Arch>) -> Reading {
        let mut answers: Vec<bool> = Vec::new();
        let mut first: Option<Reading> = None;
        let readings = MAX_READINGS.min(2 + MAX_READ_TOKENS / self.tokens.len().max(1));
        for _ in 0..readings {
            let reading = self.read_with(arch, &answers);
            let asked = reading.questions.len();
            answers.resize(asked.max(answers.len()), true);
            let questions = reading.questions.clone();
            first = Some(match first.take() {
                None => reading,
                // A compiler would refuse the text with one of the two answers, so the other answer is meant.
                Some(first) if reading.is_rejected => first,
                Some(first) if first.is_rejected => reading,
                Some(first) if is_same(&first, &reading) => first,
                Some(mut first) => {
                    // The answer that was changed last makes the difference.
                    let changed = answers.iter().rposition(|answer| !answer).unwrap_or(0);
                    let question = questions.get(changed).or(first.questions.first());
                    if let Some(question) = question.cloned() {
                        first.result = Err(question.into());
                    }
                    return first;
                }
            });
            while answers.last() == Some(&false) {
                answers.pop();
            }
            match answers.last_mut() {
                Some(last) => *last = false,
                None => return first.unwrap_or_else(|| self.read_with(arch, &[])),
            }
        }
        let mut reading = first.unwrap_or_else(|| self.read_with(arch, &[]));
        if let Some(question) = reading.questions.first() {
            reading.result = Err(question.clone().into());
        }
        reading
    }

    /// Reads the text with these answers.
    fn read_with(&self, arch: Option<Arch>, answers: &[bool]) -> Reading {
        let names = Names::new(arch, self.options.endian());
        let language = self.language;
        let literals = Literals { language, model: Model::of(arch), in_condition: false };
        let made = Made::of(self.text);
        let types = Types::of(self.tokens, language, literals.model);
        let well_known: Vec<Token<'_>> = self.well_known(&types);
        let undefined = self.options.definitions.iter().filter(|one| one.value().is_none());
        let before = Before {
            well_known: &well_known,
            given: self.given,
            undefined: undefined.map(Definition::name).collect(),
        };
        let expanded = match language {
            Language::C => {
                let read = |answers: &[bool], used: &HashSet<FamilyId>| {
                    preprocess(&before, self.tokens, (&names, literals), &made, (answers, used))
                };
                let first = read(&[], &HashSet::new());
                let is_asked = |family: &FamilyId| first.asked.contains(family);
                let used = families_in(&first, &names, literals);
                let used: HashSet<FamilyId> = used.into_iter().filter(is_asked).collect();
                match (answers, used.is_empty()) {
                    ([], true) => first,
                    _ => {
                        let mut again = read(answers, &used);
                        let is_used = again.asked.is_subset(&again.included)
                            || used.is_subset(&families_in(&again, &names, literals));
                        if !is_used && !again.is_rejected {
                            let message = "the headers of names in conditions are not known";
                            let error = Diagnostic::error(None, message);
                            again.errors.push(error.help("add the lines with `#include`"));
                        }
                        again
                    }
                }
            }
            _ => expand_only(&before, self.tokens, (&names, literals), &made),
        };
        let Preprocessed { tokens, questions, is_rejected, parts, mut errors, warnings, .. } =
            expanded;
        errors.extend(self.errors.iter().cloned());
        let arch = only_arch_in(&tokens);
        let unread = warnings.first().filter(|_| self.options.is_strict);
        errors.extend(unread.cloned().map(|one| Diagnostic { severity: Severity::Error, ..one }));
        let mut result = self.rows(&tokens, &names, literals, errors);
        if let (Ok(rows), false) = (&mut result, warnings.is_empty()) {
            rows.warnings.extend(warnings);
        }
        Reading { result, questions, is_rejected, parts, arch }
    }

    fn rows(
        &self,
        tokens: &[Token<'_>],
        names: &Names,
        literals: Literals,
        errors: Errors,
    ) -> Result<Rows, AsmError> {
        errors.check()?;
        let types = Types::of(tokens, self.language, literals.model);
        let constants = match self.language {
            Language::C => {
                let is_replacement = |name: &str| self.is_replacement(name, names, literals);
                declared(tokens, &is_replacement, names, &types, literals)
            }
            _ => Constants::new(),
        };
        if let Some(None) = constants.get("struct sock_filter") {
            let message = "this text defines another `struct sock_filter` than the kernel";
            return Err(Diagnostic::error(None, message).into());
        }
        let end = self.tokens.last().map_or(Position::START, |last| last.position);
        let context = Context { names, types: &types, literals, constants: &constants };
        let pairs = Pairs::new(tokens);
        let mut reader = Reader::new(&pairs, end, context);
        reader.read();
        if let Some(error) = changed_field(self.tokens, reader.declaration, self.language) {
            return Err(error.into());
        }
        if self.language == Language::C {
            let value =
                |expression: &[Token<'_>]| Some(Fields::outside(context).whole(expression)?.number);
            let error =
                reader.errors.is_empty().then(|| not_the_whole(&pairs, &reader, &value)).flatten();
            if let Some(error) = error {
                return Err(error.into());
            }
        }
        reader.finish(self.tokens)
    }

    /// Whether a constant of the headers replaces a name of the text: `#define error EPERM`.
    fn is_replacement(&self, name: &str, names: &Names, literals: Literals) -> bool {
        let is_line = |tokens: &[Token<'_>]| {
            matches!(tokens, [define, _, body, end] if define.text == "define"
                && body.text == name && end.is_line_end())
        };
        matches!(defined(name, names, literals.model), Defined::As(..))
            && self.tokens.windows(4).any(is_line)
    }

    /// The lines of the well-known macros, without those whose names the text declares.
    fn well_known(&self, types: &Types<'_>) -> Vec<Token<'a>> {
        let lines = self.known.split_inclusive(|token| token.is_line_end());
        let is_meant = |line: &&[Token<'_>]| {
            line.get(2).is_none_or(|name| !declares(self.tokens, name.text, types))
        };
        lines.filter(is_meant).flatten().copied().collect()
    }
}

fn ask_arch(message: String) -> AsmError {
    let error = Diagnostic::error(None, message);
    error.help(Advice::ProgramArch).into()
}

/// An error if a text in C changes what was read, or uses only a part of it.
fn not_the_whole<'a>(
    pairs: &Pairs<'_, 'a>,
    reader: &Reader<'_, '_, 'a>,
    value: &dyn Fn(&[Token<'_>]) -> Option<i128>,
) -> Option<Diagnostic> {
    let places = match reader.places() {
        Ok(places) => places,
        Err(error) => return Some(error),
    };
    // If a pointer walks over the array, other uses of the pointer do not matter: the array itself is followed.
    let assigned =
        places.as_ref().and_then(|places| if places.is_pointer { Some("") } else { places.name });
    let name = assigned.or_else(|| array_name(reader.declaration));
    let part = name.and_then(|name| other_part(pairs.tokens(), name, reader.insns.len(), value));
    let origin = match (&places, reader.begin) {
        (Some(places), _) => Some(Origin::Rows(places)),
        (None, begin) => begin.map(Origin::Brace),
    };
    part.or_else(|| changing_use(pairs, &origin?))
}

/// The families of names that a text uses without including their headers.
fn families_in(read: &Preprocessed<'_>, names: &Names, literals: Literals) -> HashSet<FamilyId> {
    if read.asked.is_empty() {
        return HashSet::new();
    }
    let types = Types::of(&read.tokens, Language::C, literals.model);
    let own = declared(&read.tokens, &|_| false, names, &types, literals);
    let words = read.tokens.iter().filter(|token| token.is_name());
    let used = words.filter(|token| !own.contains_key(token.text));
    let used = used.filter_map(|token| family(token.text));
    used.filter(|family| !read.included.contains(family)).collect()
}

/// Whether the architecture changes more of the program than the numbers that it compares. Then the text alone does not say
/// which architecture it is for. A text that a compiler refuses for the first architecture is for the second.
fn depends_on_arch(first: &Reading, second: &Reading) -> bool {
    let (Ok(one), Ok(other)) = (&first.result, &second.result) else {
        return first.parts != second.parts && !first.is_rejected;
    };
    let shape = |insn: &RawInsn| {
        let action = if insn.code == RET { insn.k & 0xffff_0000 } else { 0 };
        (insn.code, insn.jt, insn.jf, action)
    };
    let is_same_shape = one.insns.iter().map(shape).eq(other.insns.iter().map(shape));
    !is_same_shape || (first.parts != second.parts && one.insns != other.insns)
}

/// The code of a return of a constant.
const RET: u16 = 0x06;

/// Whether two readings have the same program, or both none.
fn is_same(one: &Reading, other: &Reading) -> bool {
    match (&one.result, &other.result) {
        (Ok(one), Ok(other)) => one.insns == other.insns,
        (one, other) => one.is_err() && other.is_err(),
    }
}
