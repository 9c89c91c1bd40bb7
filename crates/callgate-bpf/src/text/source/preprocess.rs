//! The preprocessor of C: conditionals, definitions and the expansion of macros.
//!
//! A condition that depends on a name about which nothing is known has no result. It is a question: the text is read with
//! both answers, and the question matters only if the programs differ. The answer whether a name is defined holds for later
//! conditions as well.

use crate::advice::Advice;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::condition::{Conditions, Truth};
use super::expand::{Expander, Made, Work};
use super::headers::{FamilyId, defined_by, family, is_well_known};
use super::language::DIRECTIVES;
use super::literal::Literals;
use super::macros::{Macro, Macros};
use super::predefined::{Defined, defined};
use crate::asm::Errors;
use crate::cursor::Result;
use crate::diagnostic::{Diagnostic, Position, error};
use crate::suggest::nearest;
use crate::symbols::Names;
use crate::token::{Token, quote};

/// How deep conditionals may be nested.
const MAX_CONDITIONALS: usize = 200;
/// How many warnings are kept.
const MAX_WARNINGS: usize = 20;

/// What is preprocessed before the text.
pub(super) struct Before<'t, 'a> {
    /// Definitions that many examples use; those of the text come first.
    pub(super) well_known: &'t [Token<'a>],
    /// Definitions of the caller, as lines of the text.
    pub(super) given: &'t [Token<'a>],
    /// Names that are not defined.
    pub(super) undefined: Vec<&'a str>,
    /// Whether names that by convention are only for debugging are taken as not defined, with a warning.
    pub(super) is_assuming: bool,
}

/// A condition that depends on what is not known.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// The question as an error.
    pub(super) error: Diagnostic,
    /// The name, if the condition is only whether it is defined, and whether that is negated.
    pub(super) tested: Option<(String, bool)>,
}

/// A preprocessed text.
#[derive(Default)]
pub(super) struct Preprocessed<'a> {
    /// Without directives and line ends.
    pub(super) tokens: Vec<Token<'a>>,
    /// The conditions that depend on what is not known. The first ones have the given answers, the others hold.
    pub(super) questions: Vec<Question>,
    /// Whether no compiler accepts the text, because an `#error` applies.
    pub(super) is_rejected: bool,
    /// Which parts of conditionals are read, in their order.
    pub(super) parts: Vec<bool>,
    /// The families of names whose headers are included.
    pub(super) included: HashSet<FamilyId>,
    /// The families of names that conditions asked for without their headers.
    pub(super) asked: HashSet<FamilyId>,
    /// Headers that are not read.
    pub(super) warnings: Vec<Diagnostic>,
    pub(super) errors: Errors,
}

/// An open conditional.
struct Conditional {
    position: Position,
    /// Whether the text around it is read.
    is_outside_read: bool,
    /// Whether the part from the last directive on is read.
    is_read: bool,
    /// Whether a part was read already.
    was_read: bool,
    has_else: bool,
}

struct Preprocessor<'e, 't, 'a> {
    names: &'e Names,
    literals: Literals,
    made: &'a Made,
    macros: Macros<'t, 'a>,
    undefined: HashSet<&'a str>,
    is_assuming: bool,
    /// Whether names are defined, according to the answers so far.
    assumed: HashMap<&'a str, bool>,
    conditionals: Vec<Conditional>,
    work: Work,
    answers: &'e [bool],
    /// The families of names that the code uses, whose headers are not shown.
    used: &'e HashSet<FamilyId>,
    result: Preprocessed<'a>,
}

/// Whether a name is defined only while a program is debugged: by sanitizers, valgrind and lint, or by its developers.
fn is_for_debugging(name: &str) -> bool {
    const NAMES: [&str; 7] = [
        "ASAN",
        "DEBUG",
        "VALGRIND",
        "__SANITIZE_ADDRESS__",
        "__SANITIZE_THREAD__",
        "__lint__",
        "lint",
    ];
    NAMES.contains(&name) || name.ends_with("_DEBUG")
}

/// Preprocesses a text. `answers` are for its first questions.
pub(super) fn preprocess<'t, 'a>(
    before: &Before<'t, 'a>,
    text: &'t [Token<'a>],
    (names, literals): (&Names, Literals),
    made: &'a Made,
    (answers, used): (&[bool], &HashSet<FamilyId>),
) -> Preprocessed<'a> {
    let mut preprocessor = Preprocessor {
        names,
        literals,
        made,
        macros: HashMap::new(),
        undefined: HashSet::new(),
        is_assuming: before.is_assuming,
        assumed: HashMap::new(),
        conditionals: Vec::new(),
        work: Work::default(),
        answers,
        used,
        result: Preprocessed::default(),
    };
    preprocessor.read(before.well_known);
    preprocessor.macros.values_mut().for_each(|known| known.is_well_known = true);
    preprocessor.read(before.given);
    for name in &before.undefined {
        preprocessor.macros.remove(name);
        preprocessor.undefined.insert(name);
    }
    preprocessor.read(text);
    let Preprocessor { mut result, conditionals, .. } = preprocessor;
    if let Some(open) = conditionals.last().filter(|_| !result.is_rejected) {
        let error = error(open.position, "this conditional has no `#endif`");
        result.errors.push(error.help("add the rest of the text, or the missing `#endif`"));
    }
    result
}

/// Expands the well-known macros in a text of another language than C.
pub(super) fn expand_only<'t, 'a>(
    before: &Before<'t, 'a>,
    text: &'t [Token<'a>],
    (names, literals): (&Names, Literals),
    made: &'a Made,
) -> Preprocessed<'a> {
    let mut result = preprocess(before, &[], (names, literals), made, (&[], &HashSet::new()));
    let mut macros = HashMap::new();
    let lines = before.well_known.split(|token| token.is_line_end());
    for line in lines.chain(before.given.split(|token| token.is_line_end())) {
        if let Some(Ok(known)) = line.get(2..).map(|line| Macro::read(line, Position::START)) {
            macros.insert(known.name, known);
        }
    }
    let mut work = Work::default();
    let mut expander = Expander::new(&macros, made, &mut work, None);
    let expanded = expander.expand(text, &mut result.tokens);
    result.errors.extend(expanded.err());
    result
}

impl<'t, 'a> Preprocessor<'_, 't, 'a> {
    fn read(&mut self, text: &'t [Token<'a>]) {
        let mut rest = text;
        while !rest.is_empty() && !self.result.is_rejected {
            let code = code_before_directive(rest);
            let (code, directive) = rest.split_at_checked(code).unwrap_or((rest, &[]));
            let end = directive.iter().position(Token::is_line_end);
            let length = end.map_or(directive.len(), |end| end + 1);
            let (line, after) = directive.split_at_checked(length).unwrap_or((directive, &[]));
            let expanded = if self.is_read() { self.expand(code) } else { Ok(()) };
            if let Err(error) = expanded.and_then(|()| self.directive(line, after)) {
                self.result.errors.push(error);
                return;
            }
            rest = after;
        }
    }

    fn expand(&mut self, code: &'t [Token<'a>]) -> Result<()> {
        let first = code.iter().find(|token| !token.is_line_end());
        let Some(first) = first else { return Ok(()) };
        if let Some(position) = self.work.open_call.take().filter(|_| first.is('(')) {
            return Err(error(position, "a directive is in the call of this macro")
                .help("write out the call in one piece"));
        }
        let (names, model) = (self.names, self.literals.model);
        let is_of_headers = |name: &str| {
            matches!(name, "__LINE__" | "__FILE__" | "__COUNTER__")
                || matches!(defined(name, names, model), Defined::As(..))
        };
        let mut expander =
            Expander::new(&self.macros, self.made, &mut self.work, Some(&is_of_headers));
        expander.expand(code, &mut self.result.tokens)
    }

    fn is_read(&self) -> bool {
        self.conditionals.last().is_none_or(|open| open.is_read)
    }

    /// Reads a line from `#` on.
    fn directive(&mut self, line: &'t [Token<'a>], after: &'t [Token<'a>]) -> Result<()> {
        let Some((hash, line)) = line.split_first() else { return Ok(()) };
        let Some((name, arguments)) = line.split_first() else { return Ok(()) };
        let arguments = match arguments.split_last() {
            Some((last, arguments)) if last.is_line_end() => arguments,
            _ => arguments,
        };
        let is_read = self.is_read();
        match name.text {
            "if" => {
                let holds = is_read && self.holds(arguments, hash.position, after)?;
                self.open(holds, hash.position)
            }
            "ifdef" | "ifndef" => {
                let holds = is_read && self.is_defined(name, arguments, after)?;
                self.open(holds, hash.position)
            }
            "elif" | "elifdef" | "elifndef" => {
                let may_hold = self.may_hold(hash.position)?;
                let holds = match name.text {
                    _ if !may_hold => false,
                    "elif" => self.holds(arguments, hash.position, &[])?,
                    _ => self.is_defined(name, arguments, &[])?,
                };
                self.next_part(holds, false);
                Ok(())
            }
            "else" => {
                self.may_hold(hash.position)?;
                self.next_part(true, true);
                Ok(())
            }
            "endif" => match self.conditionals.pop() {
                Some(_) => Ok(()),
                None => Err(outside(hash.position)),
            },
            _ if is_read => self.active(hash, name, arguments),
            _ => Ok(()),
        }
    }

    /// A directive that is not about conditionals, in a part that is read.
    fn active(
        &mut self,
        hash: &Token<'a>,
        name: &Token<'a>,
        arguments: &'t [Token<'a>],
    ) -> Result<()> {
        match name.text {
            "define" => {
                let known = Macro::read(arguments, name.position)?;
                self.undefined.remove(known.name);
                self.macros.insert(known.name, known);
            }
            "undef" => {
                let Some(name) = arguments.first() else { return Err(nameless(name)) };
                self.macros.remove(name.text);
                self.undefined.insert(name.text);
            }
            // In an array it would hold instructions: the reader of arrays refuses it there.
            "include" | "include_next" | "import" => {
                self.result.tokens.push(Token { text: "#include", ..*hash });
                if let Some(header) = arguments.first() {
                    self.include(header);
                }
            }
            "pragma" if matches!(arguments, [first, ..] if first.text.ends_with("_macro")) => {
                let message = "this pragma changes macros in a way that is not read".to_owned();
                return Err(
                    error(hash.position, message).help("write `#define` or `#undef` instead")
                );
            }
            "pragma" | "line" | "warning" | "ident" | "sccs" => {}
            "error" => {
                let words: Vec<&str> = arguments.iter().take(20).map(|token| token.text).collect();
                let message = format!("an `#error` applies here: {}", quote(&words.join(" ")));
                self.result.is_rejected = true;
                return Err(error(hash.position, message).help(Advice::ArchOrDefinitions));
            }
            "embed" | "assert" | "unassert" => {
                let message = format!("`#{}` is not read", name.text);
                return Err(error(hash.position, message).help("write out what it stands for"));
            }
            // A comment of another language, such as those of a shell. A slip in a conditional would choose other lines.
            other => {
                if let Some(near) = nearest(other, DIRECTIVES.split(' ')) {
                    let message = format!("`#{other}` is not a C directive");
                    return Err(
                        error(hash.position, message).help(format!("did you mean `#{near}`?"))
                    );
                }
            }
        }
        Ok(())
    }

    /// Notes which families of names the header defines. The header itself is not read.
    fn include(&mut self, header: &Token<'a>) {
        let name = header.text.trim_matches(['<', '>', '"']);
        let is_gnu = self.macros.contains_key("_GNU_SOURCE");
        self.result.included.extend(defined_by(name, is_gnu));
        let is_quoted = header.text.starts_with('"');
        let is_known = is_well_known(name, is_quoted);
        // From here on, the header may define what was not defined before.
        let included = &self.result.included;
        let may_be_new = |name: &str| family(name).is_some_and(|family| included.contains(&family));
        self.assumed.retain(|name, _| is_known && !may_be_new(name));
        if !is_known && self.result.warnings.len() < MAX_WARNINGS {
            let message = format!(
                "{} is not read: it is assumed that it defines no name that the program uses",
                quote(name)
            );
            let warning = Diagnostic::warning(Some(header.position), message);
            let help = "paste the definitions that the program uses, and delete the line";
            self.result.warnings.push(warning.help(help));
        }
    }

    /// Whether `#ifdef` holds, or `#ifndef`, and those of `#elif`.
    fn is_defined(
        &mut self,
        directive: &Token<'a>,
        arguments: &'t [Token<'a>],
        after: &'t [Token<'a>],
    ) -> Result<bool> {
        let name = arguments.first().filter(|name| name.is_name());
        let Some(name) = name else { return Err(nameless(directive)) };
        let is_negated = directive.text.ends_with("ndef");
        let truth = self.ask(|conditions| Ok(conditions.knows(*name)))?;
        match truth {
            Truth::Holds(is_defined) => Ok(is_defined != is_negated),
            Truth::Open(_) if is_negated && defines(after, name.text) => Ok(true),
            Truth::Open(_) if has_only_includes(after) => Ok(true),
            Truth::Open(error) => Ok(self.answer(error, Some((name.text, is_negated)))),
        }
    }

    fn holds(
        &mut self,
        condition: &'t [Token<'a>],
        start: Position,
        after: &'t [Token<'a>],
    ) -> Result<bool> {
        let end = condition.last().map_or(start, Token::end);
        let mut expanded = Vec::new();
        let mut expander = Expander::new(&self.macros, self.made, &mut self.work, None);
        expander.in_condition = true;
        expander.expand(condition, &mut expanded)?;
        self.work.open_call = None;
        let truth = self.ask(|conditions| conditions.holds(&expanded, end));
        let truth = truth.map_err(|error| match error.help.is_empty() {
            true => error.help("delete the conditional, and keep the part of it that applies"),
            false => error,
        })?;
        let tested = tested(condition);
        // `#if !defined(X)` before `#define X` is the guard of a header, or a default.
        let is_guard = tested.is_some_and(|(name, is_negated)| is_negated && defines(after, name));
        match truth {
            Truth::Holds(holds) => Ok(holds),
            Truth::Open(_) if is_guard || has_only_includes(after) => Ok(true),
            Truth::Open(error) => Ok(self.answer(error, tested)),
        }
    }

    fn ask(&mut self, about: impl FnOnce(Conditions<'_, '_>) -> Result<Truth>) -> Result<Truth> {
        let of_text = |name: &str| {
            let is_defined = self.macros.get(name).is_some_and(|known| !known.is_well_known);
            (is_defined || self.undefined.contains(name)).then_some(is_defined)
        };
        let asked = RefCell::new(HashSet::new());
        let has_header = |name: &str| {
            let Some(family) = family(name) else { return true };
            let is_included = self.result.included.contains(&family);
            if !is_included {
                asked.borrow_mut().insert(family);
            }
            is_included || self.used.contains(&family)
        };
        let assumed = |name: &str| self.assumed.get(name).copied();
        let (names, literals) = (self.names, self.literals);
        let truth = about(Conditions::new(&of_text, &assumed, &has_header, names, literals));
        self.result.asked.extend(asked.into_inner());
        truth
    }

    /// The given answer to a question: whether the condition holds. The first answer to try is that it does.
    fn answer(&mut self, error: Diagnostic, tested: Option<(&'a str, bool)>) -> bool {
        if let Some((name, is_negated)) =
            tested.filter(|(name, _)| self.is_assuming && is_for_debugging(name))
        {
            self.assumed.insert(name, false);
            if self.result.warnings.len() < MAX_WARNINGS {
                let message = format!(
                    "{} is taken as not defined, as in programs that are not debugged",
                    quote(name)
                );
                let warning = Diagnostic::warning(error.position, message);
                self.result.warnings.push(warning.help(Advice::Define(name.to_owned())));
            }
            return is_negated;
        }
        let holds = self.answers.get(self.result.questions.len()).copied().unwrap_or(true);
        if let Some((name, is_negated)) = tested {
            self.assumed.insert(name, holds != is_negated);
        }
        let tested = tested.map(|(name, is_negated)| (name.to_owned(), is_negated));
        self.result.questions.push(Question { error, tested });
        holds
    }

    fn open(&mut self, holds: bool, position: Position) -> Result<()> {
        if self.conditionals.len() >= MAX_CONDITIONALS {
            let message = format!(
                "conditionals are nested more than {MAX_CONDITIONALS} times here, the limit"
            );
            return Err(error(position, message));
        }
        let is_outside_read = self.is_read();
        let is_read = is_outside_read && holds;
        self.result.parts.push(is_read);
        self.conditionals.push(Conditional {
            position,
            is_outside_read,
            is_read,
            was_read: is_read,
            has_else: false,
        });
        Ok(())
    }

    /// Whether the part after `#elif` or `#else` may be read.
    fn may_hold(&self, position: Position) -> Result<bool> {
        match self.conditionals.last() {
            None => Err(outside(position)),
            Some(open) if open.has_else => Err(error(position, "this part comes after `#else`")),
            Some(open) => Ok(open.is_outside_read && !open.was_read),
        }
    }

    fn next_part(&mut self, holds: bool, is_else: bool) {
        if let Some(open) = self.conditionals.last_mut() {
            open.is_read = open.is_outside_read && !open.was_read && holds;
            open.was_read |= open.is_read;
            open.has_else = is_else;
            self.result.parts.push(open.is_read);
        }
    }
}

fn outside(position: Position) -> Diagnostic {
    error(position, "the conditional of this directive begins before the text")
        .help("add the lines before it, or delete the directive and the lines that do not apply")
}

fn nameless(directive: &Token<'_>) -> Diagnostic {
    error(directive.position, format!("expected a name after `#{}`", directive.text))
}

/// Whether the first line of a text defines a name.
fn defines(text: &[Token<'_>], name: &str) -> bool {
    let blanks = text.iter().take_while(|token| token.is_line_end()).count();
    matches!(text.get(blanks..), Some([hash, define, defined, ..])
        if hash.is('#') && define.text == "define" && defined.text == name)
}

/// The name of which a condition asks only whether it is defined, and whether that is negated.
fn tested<'a>(condition: &[Token<'a>]) -> Option<(&'a str, bool)> {
    let (is_negated, rest) = match condition {
        [not, rest @ ..] if not.is('!') => (true, rest),
        rest => (false, rest),
    };
    let name = match rest {
        [defined, name] if defined.text == "defined" => name,
        [defined, open, name, close]
            if defined.text == "defined" && open.is('(') && close.is(')') =>
        {
            name
        }
        _ => return None,
    };
    name.is_name().then_some((name.text, is_negated))
}

/// Whether a conditional has nothing but lines with `#include` of headers that define none of the known names, so that its
/// condition does not matter.
fn has_only_includes(after: &[Token<'_>]) -> bool {
    let mut depth = 0usize;
    for line in after.split(|token| token.is_line_end()) {
        let [hash, directive, rest @ ..] = line else {
            if line.is_empty() {
                continue;
            }
            return false;
        };
        let name = rest.first().map_or("", |header| header.text.trim_matches(['<', '>', '"']));
        match directive.text {
            _ if !hash.is('#') => return false,
            "include" | "include_next" if !name.is_empty() => {
                if defined_by(name, true).next().is_some() {
                    return false;
                }
            }
            "if" | "ifdef" | "ifndef" => depth += 1,
            "elif" | "elifdef" | "elifndef" | "else" => {}
            "endif" if depth == 0 => return true,
            "endif" => depth -= 1,
            _ => return false,
        }
    }
    false
}

/// The number of tokens before the next directive.
fn code_before_directive(tokens: &[Token<'_>]) -> usize {
    let mut is_line_start = true;
    for (at, token) in tokens.iter().enumerate() {
        if is_line_start && token.is('#') {
            return at;
        }
        is_line_start = token.is_line_end();
    }
    tokens.len()
}
