//! Reads a text: detects its language and its architecture, and chooses the program.

use crate::advice::Advice;
use std::collections::{HashMap, HashSet};

use super::super::options::{Definition, TextOptions};
use super::changed::changed_field;
use super::chosen::{Choice, Program};
use super::declared::{declared, declares};
use super::expand::Made;
use super::field::{Constants, Context, Fields};
use super::headers::{FamilyId, family};
use super::integer::Model;
use super::literal::Literals;
use super::macros::DEFINITIONS;
use super::pairs::Pairs;
use super::part::{array_name, other_part, other_part_of_copy};
use super::predefined::{Defined, defined};
use super::preprocess::{Before, Preprocessed, Question, expand_only, preprocess};
use super::readings::{Reading, decided};
use super::rows::{Reader, Rows};
use super::shape::builder;
use super::types::Types;
use super::uses::{Origin, changing_use};
use super::variables::{add_unchanged, type_of};
use crate::asm::{AsmError, Errors};
use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::lexer::{Language, Lexed, join, lex};
use crate::symbols::{Names, only_arch_in};
use crate::token::Token;
use callgate_core::{Arch, RawInsn};

/// The most readings of a text, each with other answers to its unknown conditions.
const MAX_READINGS: usize = 256;
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
pub(super) fn given_text(definitions: &[Definition]) -> String {
    let line = |one: &Definition| Some(format!("#define {} {}\n", one.name(), one.value()?));
    definitions.iter().filter_map(line).collect()
}

/// Values that are given for names.
type Given<'s, 'a> = HashMap<&'a str, &'s [Token<'a>]>;

/// A text with all that is defined before it.
pub(super) struct Source<'s, 'a> {
    /// The text in which `##` may be.
    pub(super) text: &'a str,
    pub(super) language: Language,
    pub(super) tokens: &'s [Token<'a>],
    pub(super) errors: &'s [Diagnostic],
    pub(super) known: &'s [Token<'a>],
    pub(super) given: &'s [Token<'a>],
    pub(super) options: &'s TextOptions,
}

/// A text after its directives, for an architecture and with some answers.
pub(super) struct Prepared<'t> {
    pub(super) tokens: &'t [Token<'t>],
    pub(super) names: &'t Names,
    pub(super) literals: Literals,
    /// Given values of names that the text declares, which are not macros then.
    values: &'t Given<'t, 't>,
    pub(super) errors: Errors,
}

/// What the preprocessor says of a text besides its tokens.
pub(super) struct Facts {
    pub(super) questions: Vec<Question>,
    /// Whether no compiler accepts the text.
    pub(super) is_rejected: bool,
    /// Which parts of conditionals are read.
    parts: Vec<bool>,
    /// The architecture that the selected lines name, if they name exactly one.
    arch: Option<Arch>,
    pub(super) warnings: Vec<Diagnostic>,
}

/// How definitions of the caller are meant whose names the text declares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GivenNames {
    /// They are values of variables and parameters.
    Values,
    /// They are macros as all others.
    Macros,
}

/// What tokens without directives are.
struct Outcome {
    result: Result<Rows, AsmError>,
    /// The instructions that were read, also if others have errors.
    insns: Vec<RawInsn>,
    /// Whether there is a program, perhaps with errors.
    has_program: bool,
    /// Errors in arrays without instructions.
    ignored: Vec<Diagnostic>,
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

    /// Reads the text for an architecture, with the answers to its questions that are meant.
    fn read_for(&self, arch: Option<Arch>) -> Reading {
        let most = MAX_READINGS.min(2 + MAX_READ_TOKENS / self.tokens.len().max(1));
        decided(&|answers| self.read_with(arch, answers), most, self.options.is_strict)
    }

    /// Reads the text with these answers.
    fn read_with(&self, arch: Option<Arch>, answers: &[bool]) -> Reading {
        let read = |prepared: Prepared<'_>| {
            let Prepared { tokens, names, literals, values, errors } = prepared;
            match errors.check() {
                Ok(()) => self.rows(tokens, names, literals, values),
                Err(error) => Outcome::refused(error),
            }
        };
        let (mut outcome, facts) = self.prepared(arch, answers, GivenNames::Values, read);
        let Facts { questions, is_rejected, parts, arch, warnings } = facts;
        if let (Ok(rows), false) = (&mut outcome.result, warnings.is_empty()) {
            rows.warnings.extend(warnings);
        }
        let Outcome { result, insns, has_program, ignored } = outcome;
        Reading { result, insns, has_program, ignored, questions, is_rejected, parts, arch }
    }

    /// Preprocesses the text with these answers, and gives it to a reader.
    pub(super) fn prepared<R>(
        &self,
        arch: Option<Arch>,
        answers: &[bool],
        given_names: GivenNames,
        reader: impl FnOnce(Prepared<'_>) -> R,
    ) -> (R, Facts) {
        let names = Names::new(arch, self.options.endian());
        let language = self.language;
        let literals = Literals { language, model: Model::of(arch), in_condition: false };
        let made = Made::of(self.text);
        let types = Types::of(self.tokens, language, literals.model);
        let well_known: Vec<Token<'_>> = self.well_known(&types);
        let undefined = self.options.definitions.iter().filter(|one| one.value().is_none());
        let (values, given) = match given_names {
            GivenNames::Values => self.given_values(&types),
            GivenNames::Macros => (HashMap::new(), self.given.to_vec()),
        };
        let before = Before {
            well_known: &well_known,
            given: &given,
            undefined: undefined.map(Definition::name).collect(),
            is_assuming: !self.options.is_strict,
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
        let result =
            reader(Prepared { tokens: &tokens, names: &names, literals, values: &values, errors });
        (result, Facts { questions, is_rejected, parts, arch, warnings })
    }

    /// The given definitions of names that the text declares as variables or parameters, which have these values, and the
    /// lines of the others, which are macros.
    fn given_values(&self, types: &Types<'_>) -> (Given<'_, 'a>, Vec<Token<'a>>) {
        let (mut values, mut macros) = (HashMap::new(), Vec::new());
        for line in self.given.split_inclusive(|token| token.is_line_end()) {
            match line {
                [_, _, name, value @ .., _]
                    if self.language == Language::C
                        && declares(self.tokens, name.text, types)
                        && !self.is_in_condition(name.text) =>
                {
                    values.insert(name.text, value);
                }
                line => macros.extend_from_slice(line),
            }
        }
        (values, macros)
    }

    /// Whether a condition of the preprocessor has a name.
    fn is_in_condition(&self, name: &str) -> bool {
        let mut lines = self.tokens.split(|token| token.is_line_end());
        lines.any(|line| match line {
            [hash, directive, rest @ ..] => {
                hash.is('#')
                    && ["if", "elif"].iter().any(|start| directive.text.starts_with(start))
                    && rest.iter().any(|token| token.text == name)
            }
            _ => false,
        })
    }

    fn rows<'b>(
        &self,
        tokens: &[Token<'b>],
        names: &Names,
        literals: Literals,
        values: &Given<'_, 'b>,
    ) -> Outcome {
        let types = Types::of(tokens, self.language, literals.model);
        let pairs = Pairs::new(tokens);
        let constants = match self.language {
            Language::C => {
                let is_replacement = |name: &str| self.is_replacement(name, names, literals);
                let mut known = declared(tokens, &is_replacement, names, &types, literals);
                add_unchanged(&pairs, (names, &types, literals), &mut known);
                add_given(tokens, values, (names, &types, literals), &mut known);
                known
            }
            _ => Constants::new(),
        };
        if let Some(None) = constants.get("struct sock_filter") {
            let message = "this text defines another `struct sock_filter` than the kernel";
            return Outcome::refused(Diagnostic::error(None, message).into());
        }
        let end = self.tokens.last().map_or(Position::START, |last| last.position);
        let context = Context { names, types: &types, literals, constants: &constants };
        let mut reader = Reader::new(&pairs, end, context);
        reader.read();
        let (part, language) = (self.options.part.as_deref(), self.language);
        let choice = Choice { pairs: &pairs, types: &types, language, part };
        let program = match choice.choose(reader.take_programs()) {
            Ok(Some(program)) => program,
            Ok(None) => return self.nothing(tokens, reader),
            Err(error) => return Outcome::refused(error.into()),
        };
        let insns = program.insns.clone();
        let value =
            |expression: &[Token<'_>]| Some(Fields::outside(context).whole(expression)?.number);
        let has_errors = !program.errors.is_empty() || !reader.errors.is_empty();
        let error = changed_field(self.tokens, program.declaration, language).or_else(|| {
            let is_checked = language == Language::C && !has_errors;
            is_checked.then(|| not_the_whole(&pairs, &reader, &program, &value)).flatten()
        });
        let result = match error {
            Some(error) => Err(error.into()),
            None => reader.finish(program),
        };
        Outcome { result, insns, has_program: true, ignored: Vec::new() }
    }

    /// The outcome of a text without programs.
    fn nothing(&self, tokens: &[Token<'_>], reader: Reader<'_, '_, '_>) -> Outcome {
        let ignored = reader.ignored.list().to_vec();
        // A library makes a program when this runs, or what is read has errors.
        let has_program = builder(tokens).is_some() || !reader.errors.is_empty();
        let result = Err(reader.nothing(self.tokens));
        Outcome { result, insns: Vec::new(), has_program, ignored }
    }

    /// Whether a constant of the headers replaces a name of the text: `#define error EPERM`.
    pub(super) fn is_replacement(&self, name: &str, names: &Names, literals: Literals) -> bool {
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

impl Outcome {
    /// The outcome of a text with an error before programs are looked for.
    fn refused(error: AsmError) -> Outcome {
        Outcome { result: Err(error), insns: Vec::new(), has_program: true, ignored: Vec::new() }
    }
}

/// Enters the given values of variables and parameters, converted to their types.
fn add_given<'a>(
    tokens: &[Token<'a>],
    values: &Given<'_, 'a>,
    (names, types, literals): (&Names, &Types<'a>, Literals),
    constants: &mut Constants<'a>,
) {
    for (name, expression) in values {
        let context = Context { names, types, literals, constants: &*constants };
        let value = Fields::outside(context).whole(expression);
        let kind = type_of(tokens, name, types);
        let converted = value.map(|value| kind.map_or(value, |kind| value.converted(kind)));
        constants.insert(*name, converted);
    }
}

/// An error if a text in C changes what was read, or uses only a part of it.
fn not_the_whole<'a>(
    pairs: &Pairs<'_, 'a>,
    reader: &Reader<'_, '_, 'a>,
    program: &Program<'_, 'a>,
    value: &dyn Fn(&[Token<'_>]) -> Option<i128>,
) -> Option<Diagnostic> {
    let places = match (program.begin, reader.places()) {
        (Some(_), _) => None,
        (None, Ok(places)) => places,
        (None, Err(error)) => return Some(error),
    };
    // If a pointer walks over the array, other uses of the pointer do not matter: the array itself is followed.
    let assigned =
        places.as_ref().and_then(|places| if places.is_pointer { Some("") } else { places.name });
    let name = assigned.or_else(|| array_name(program.declaration));
    let tokens = pairs.tokens();
    let elements = program.insns.len();
    let part = name.and_then(|name| other_part(tokens, name, elements, value));
    let origin = match (program.begin, &places) {
        (Some(begin), _) => Some(Origin::Brace(begin)),
        (None, places) => places.as_ref().map(Origin::Rows),
    };
    part.or_else(|| match changing_use(pairs, &origin?) {
        Err(error) => Some(error),
        Ok(copies) => {
            copies.iter().find_map(|copy| other_part_of_copy(tokens, copy, elements, value))
        }
    })
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
