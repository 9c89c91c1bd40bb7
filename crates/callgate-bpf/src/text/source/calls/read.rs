//! Reads a text and runs its program.

use super::super::declared::declared;
use super::super::field::Context;
use super::super::literal::Literals;
use super::super::macros::DEFINITIONS;
use super::super::pairs::Pairs;
use super::super::read::{Facts, Prepared, Source, given_text};
use super::super::types::Types;
use super::code::Code;
use super::compile::Compiler;
use super::interface::{Executed, Library, Wanted};
use super::machine::Machine;
use super::outline::{OUTSIDE, Outline, several};
use super::ways::{Meaning, read_each_way};
use crate::asm::AsmError;
use crate::cursor::Result;
use crate::diagnostic::{Diagnostic, Topic};
use crate::lexer::{Language, join};
use crate::suggest::nearest;
use crate::symbols::Names;
use crate::text::clean::clean;
use crate::token::{Token, quote};

/// The longest text that is read.
const MAX_TEXT: usize = 1 << 20;
/// How many callers of the function that makes the filter are tried, one after the other.
const MAX_CALLERS: usize = 4;

/// Runs the program of a text, as far as its calls of a library go. `start` makes the library before all calls; it is told whether the
/// program calls a function that [installs](super::Role::Installs) a filter.
///
/// # Errors
/// If the text is not C, if the calls or their arguments depend on what only a run of the real program shows, or if the text has
/// several functions that make a filter and none is chosen.
pub fn execute<L: Library>(
    text: &str,
    wanted: &Wanted<'_>,
    start: &dyn Fn(bool) -> L,
) -> std::result::Result<Executed<L>, AsmError> {
    if text.len() > MAX_TEXT {
        let message = format!("the text has {} bytes; the limit is {MAX_TEXT}", text.len());
        let help = "give only the functions that make the filter";
        return Err(Diagnostic::error(None, message).help(help).topic(Topic::TooLarge).into());
    }
    let cleaned = clean(text);
    let original = |error: AsmError| error.map(|message| cleaned.original(message));
    if let Some(error) = cleaned.of_source() {
        return Err(error.into());
    }
    let mut executed = run(&cleaned.text, wanted, start).map_err(original)?;
    let warnings = std::mem::take(&mut executed.warnings);
    executed.warnings = warnings.into_iter().map(|warning| cleaned.original(warning)).collect();
    Ok(executed)
}

fn run<L: Library>(
    text: &str,
    wanted: &Wanted<'_>,
    start: &dyn Fn(bool) -> L,
) -> std::result::Result<Executed<L>, AsmError> {
    let known = join(DEFINITIONS);
    let given = format!("{}\n{}", wanted.header, given_text(&wanted.options.definitions));
    let given = join(&given);
    let given = given.tokens()?;
    if let Some(error) = given.errors.first() {
        let message = format!("a given definition is not read: {}", error.message);
        return Err(Diagnostic::error(None, message).into());
    }
    let joined = join(text);
    let lexed = joined.tokens()?;
    let source = Source {
        // The header joins names.
        text: "##",
        language: Language::C,
        tokens: &lexed.tokens,
        errors: &lexed.errors,
        known: &known.tokens()?.tokens,
        given: &given.tokens,
        options: wanted.options,
    };
    let calls = Calls { wanted, start };
    match read_each_way(&source, wanted.options.arch, &calls)? {
        Outcome::Filter(executed) => Ok(executed),
        Outcome::None(error) => Err(error.into()),
    }
}

/// What a text is, with some answers to its conditions.
enum Outcome<L> {
    Filter(Executed<L>),
    /// It makes no filter.
    None(Diagnostic),
}

/// The calls of a text.
struct Calls<'w, L> {
    wanted: &'w Wanted<'w>,
    start: &'w dyn Fn(bool) -> L,
}

impl<L: Library> Meaning for Calls<'_, L> {
    type Result = Outcome<L>;

    fn of(
        &self,
        source: &Source<'_, '_>,
        prepared: Prepared<'_>,
    ) -> std::result::Result<Outcome<L>, AsmError> {
        let Prepared { tokens, names, literals, errors, .. } = prepared;
        errors.check()?;
        let code: Vec<Token<'_>> =
            tokens.iter().filter(|token| !token.is('#') && !token.is_line_end()).copied().collect();
        Ok(match self.execute(source, &code, names, literals)? {
            Ok(library) => Outcome::Filter(Executed { library, warnings: Vec::new() }),
            Err(none) => Outcome::None(none),
        })
    }

    fn is_same(&self, one: &Outcome<L>, other: &Outcome<L>) -> bool {
        match (one, other) {
            (Outcome::Filter(one), Outcome::Filter(other)) => one.library.is_same(&other.library),
            (Outcome::None(_), Outcome::None(_)) => true,
            _ => false,
        }
    }

    fn is_rejected(&self, result: &Outcome<L>) -> bool {
        matches!(result, Outcome::None(_))
    }

    fn warn(&self, result: &mut Outcome<L>, facts: &Facts) {
        if let Outcome::Filter(executed) = result {
            executed.warnings.extend(facts.warnings.iter().cloned());
        }
    }
}

impl<L: Library> Calls<'_, L> {
    /// Runs the program of a text; or why it makes no filter.
    fn execute(
        &self,
        source: &Source<'_, '_>,
        tokens: &[Token<'_>],
        names: &Names,
        literals: Literals,
    ) -> Result<std::result::Result<L, Diagnostic>> {
        let types = Types::of(tokens, Language::C, literals.model);
        let is_replacement = |name: &str| source.is_replacement(name, names, literals);
        let constants = declared(tokens, &is_replacement, names, &types, literals);
        let context = Context { names, types: &types, literals, constants: &constants };
        let pairs = Pairs::new(tokens);
        let outline = Outline::of(&pairs, L::role)?;
        let makers = match outline.makers()? {
            Ok(makers) => makers,
            Err(none) => return Ok(Err(none)),
        };
        let mut function = self.choose(&outline, makers)?;
        let mut compiler = Compiler::new(&outline, context);
        let mut codes: Vec<Option<Result<Code<'_>>>> = Vec::new();
        codes.resize_with(outline.functions.len(), || None);
        let pointer = i128::from(literals.model.long_bits / 8);
        let mut first = None;
        loop {
            // The code outside functions has the types and variables of the others.
            let mut reached = outline.reached(&[OUTSIDE]);
            reached.extend(outline.reached(&[function]));
            for index in reached {
                if let Some(slot) = codes.get_mut(index).filter(|slot| slot.is_none()) {
                    *slot = Some(compiler.function(index));
                }
            }
            if let Some(Some(Err(error))) = codes.get(OUTSIDE) {
                return Err(error.clone());
            }
            let sizes = (pointer, compiler.global_count);
            let machine = Machine::new(&outline, &compiler.records, &codes, sizes);
            let error = match machine.run(function, (self.start)(outline.installs(function))) {
                Ok(library) => return Ok(Ok(library)),
                Err(error) => first.get_or_insert((error, 0)),
            };
            // The caller may give the parameters values that are known.
            error.1 += 1;
            match outline.callers(function).as_slice() {
                [caller] if error.1 <= MAX_CALLERS => function = *caller,
                _ => return Err(error.0.clone()),
            }
        }
    }

    /// The function that is run, of those that make a filter.
    fn choose(&self, outline: &Outline<'_, '_>, makers: Vec<usize>) -> Result<usize> {
        let name = |at: &usize| outline.functions.get(*at).map_or("", |function| function.name);
        let Some(wanted) = self.wanted.function else {
            return match makers.as_slice() {
                [only] => Ok(*only),
                several_makers => {
                    let names: Vec<&str> = several_makers.iter().map(name).collect();
                    Err(several(&names, self.wanted.choosing))
                }
            };
        };
        let found = makers.iter().copied().find(|at| name(at) == wanted);
        found.ok_or_else(|| {
            let message = format!("no function {} makes a filter", quote(wanted));
            let near = nearest(wanted, makers.iter().map(name));
            let help = match (near, makers.first()) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, Some(first)) => (self.wanted.choosing)(name(first)),
                (None, None) => String::new(),
            };
            Diagnostic::error(None, message).help(help)
        })
    }
}
