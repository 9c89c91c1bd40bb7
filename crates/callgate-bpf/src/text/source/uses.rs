//! Uses of the array of a text in C: one that may change it is an error, because the array alone is not the filter then.
//!
//! The text is followed, not executed. Every use of the array's name is classified, and of each name that the array is
//! copied to: variables, members of structures, parameters of functions of the text. What is not modelled may change the
//! array.

use std::collections::BTreeSet;

use super::changed::other_structs;
use super::declaration::declaration_before;
use super::operand::{Operand, Use, Value, is_statement, is_type_name};
use super::pairs::{MAX_DEPTH, Pairs};
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, TokenKind, quote};

/// How many names the array may have.
const MAX_NAMES: usize = 64;

/// Types of a program, which has a pointer to its instructions.
const PROGRAMS: [&str; 2] = ["sock_fprog", "bpf_program"];

/// A name by which a text reaches its array.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Name<'a> {
    text: &'a str,
    kind: Kind,
    /// The braces in which the name is this one, as a range of tokens.
    scope: (usize, usize),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Variable,
    /// A member of a structure.
    Member,
    /// A variable that is a program, with the array as a member.
    Program,
}

/// An error at the first use of an array that may change it. The array begins at a brace.
pub(super) fn changing_use(tokens: &[Token<'_>], brace: usize) -> Option<Diagnostic> {
    let pairs = Pairs::new(tokens);
    let mut uses = Uses {
        pairs: &pairs,
        others: other_structs(tokens),
        programs: programs(tokens),
        global: global_words(&pairs),
        followed: BTreeSet::new(),
        names: Vec::new(),
        declared: None,
        is_const: false,
        is_moved: false,
        is_given: false,
        has_programs: false,
    };
    uses.find(brace).err()
}

/// The words after the types of programs, of which one is the name of a variable.
fn programs<'a>(tokens: &[Token<'a>]) -> BTreeSet<&'a str> {
    let after = tokens.windows(3).filter_map(|words| match words {
        [kind, name_or_star, last] if PROGRAMS.contains(&kind.text) => {
            Some([name_or_star.text, last.text])
        }
        _ => None,
    });
    after.flatten().collect()
}

/// The words outside of all pairs.
fn global_words<'a>(pairs: &Pairs<'_, 'a>) -> BTreeSet<&'a str> {
    let tokens = pairs.tokens().iter().enumerate();
    let is_global = |(at, token): &(usize, &Token<'_>)| {
        token.kind == TokenKind::Word && pairs.enclosing(*at).is_none()
    };
    tokens.filter(is_global).map(|(_, token)| token.text).collect()
}

struct Uses<'p, 't, 'a> {
    pairs: &'p Pairs<'t, 'a>,
    /// The names of variables of other types, those that may be programs, and those outside of functions.
    others: BTreeSet<&'a str>,
    programs: BTreeSet<&'a str>,
    global: BTreeSet<&'a str>,
    /// The parameters of functions that were followed.
    followed: BTreeSet<(&'a str, usize, Kind)>,
    names: Vec<Name<'a>>,
    /// The name in the declaration of the array.
    declared: Option<usize>,
    /// Whether the elements are constant, so that only a store is a change.
    is_const: bool,
    /// Whether the name that is followed is moved to another element.
    is_moved: bool,
    /// Whether it is given on, such as to a program.
    is_given: bool,
    /// Whether the variables that are programs were entered.
    has_programs: bool,
}

impl<'a> Uses<'_, '_, 'a> {
    fn find(&mut self, brace: usize) -> Result<(), Diagnostic> {
        if let Some(at) = self.pairs.too_deep() {
            let what = format!("this is nested in more than {MAX_DEPTH} brackets, the limit");
            return Err(self.error(at, what));
        }
        self.origin(brace)?;
        // Names are found on the way.
        let mut next = 0;
        while let Some(name) = self.names.get(next).copied() {
            self.follow(name)?;
            next += 1;
        }
        Ok(())
    }

    /// The name that the array is declared with, or the use of one without a name.
    fn origin(&mut self, brace: usize) -> Result<(), Diagnostic> {
        let Some(mut before) = brace.checked_sub(1) else { return Ok(()) };
        let is = |at: usize, mark| self.pairs.get(at).is_some_and(|token| token.is(mark));
        if let Some(open) = self.pairs.partner(before).filter(|_| is(before, ')')) {
            if is_type_name(self.pairs.slice(open + 1, before)) {
                let end = self.pairs.partner(brace).unwrap_or(brace) + 1;
                return self.judge(open, end, Kind::Variable, brace);
            }
        }
        if is(before, '=') {
            before = before.saturating_sub(1);
        }
        // `f[2] __attribute__((aligned(8)))`
        while let Some(open) = self.pairs.partner(before).filter(|open| *open < before) {
            before = open.saturating_sub(usize::from(is(open, '(')) + 1);
        }
        let Some(name) = self.pairs.get(before).filter(|name| name.kind == TokenKind::Word) else {
            return Ok(());
        };
        self.declared = Some(before);
        let declaration = declaration_before(self.pairs.tokens(), before);
        let is_pointer = declaration.iter().any(|token| token.is('*'));
        self.is_const = declaration.iter().any(|token| token.text == "const") && !is_pointer;
        if !self.is_member(before) {
            let block = self.pairs.blocks(before).next();
            return self.add(name.text, Kind::Variable, block, before);
        }
        // The variables that contain it.
        for open in self.pairs.blocks(before) {
            let end = open.saturating_sub(1);
            let start = self
                .pairs
                .skip_back(end, |token| [';', '{', '}'].iter().any(|mark| token.is(*mark)));
            let mut name = self.pairs.slice(start, end).iter().rev();
            let name = name.find(|token| token.kind == TokenKind::Word);
            if let Some(name) = name.filter(|_| is(end, '=')) {
                let block = self.pairs.blocks(open).next();
                self.add(name.text, Kind::Variable, block, before)?;
            }
        }
        self.add(name.text, Kind::Member, None, before)
    }

    /// Whether a word is the member of a structure here.
    fn is_member(&self, at: usize) -> bool {
        let is = |distance, mark| {
            let token = at.checked_sub(distance).and_then(|at| self.pairs.get(at));
            token.is_some_and(|token| token.is(mark))
        };
        is(1, '.') || (is(1, '>') && is(2, '-'))
    }

    /// Enters a name that is valid in the block that begins at a brace, or everywhere.
    fn add(
        &mut self,
        text: &'a str,
        kind: Kind,
        block: Option<usize>,
        at: usize,
    ) -> Result<(), Diagnostic> {
        let end = |open| self.pairs.partner(open).unwrap_or(usize::MAX);
        let scope = block.map_or((0, usize::MAX), |open| (open, end(open)));
        let name = Name { text, kind, scope };
        if self.names.contains(&name) {
            return Ok(());
        }
        if self.names.len() >= MAX_NAMES {
            let what = format!("the array has more than {MAX_NAMES} names here, the limit");
            return Err(self.error(at, what));
        }
        self.names.push(name);
        Ok(())
    }

    /// Classifies the uses of a name.
    fn follow(&mut self, name: Name<'a>) -> Result<(), Diagnostic> {
        let (from, to) = name.scope;
        (self.is_moved, self.is_given) = (false, false);
        for at in from..to.min(self.pairs.tokens().len()) {
            let Some(token) = self.pairs.get(at) else { break };
            if token.kind != TokenKind::Word
                || token.text != name.text
                || self.is_member(at) != (name.kind == Kind::Member)
                || self.declared == Some(at)
            {
                continue;
            }
            let start = match name.kind {
                Kind::Member if self.is_of_other(at) => continue,
                Kind::Member => self.base(at),
                _ if self.is_declared_here(at) => continue,
                _ => at,
            };
            self.judge(start, at + 1, name.kind, at)?;
            if self.is_moved && self.is_given && name.kind != Kind::Program {
                let what = format!("{} is a part of the array here, or later", quote(name.text));
                return Err(self.error(at, what));
            }
        }
        Ok(())
    }

    /// Whether a member is that of a variable with another type.
    fn is_of_other(&self, at: usize) -> bool {
        let dots = 1 + usize::from(
            at.checked_sub(1)
                .is_some_and(|dot| self.pairs.get(dot).is_some_and(|token| token.is('>'))),
        );
        let base = at.checked_sub(dots + 1).and_then(|base| self.pairs.get(base));
        base.is_some_and(|base| {
            base.kind == TokenKind::Word
                && !self.programs.contains(base.text)
                && self.others.contains(base.text)
        })
    }

    /// The first token of `a->b.member`.
    fn base(&self, at: usize) -> usize {
        let mut start = at;
        while self.is_member(start) {
            let arrow = self.pairs.get(start - 1).is_some_and(|token| token.is('>'));
            let Some(mut before) = start.checked_sub(2 + usize::from(arrow)) else { break };
            // `a[1].member`, `f(x)->member`
            while let Some(open) = self.pairs.partner(before).filter(|open| *open < before) {
                let is_index = self.pairs.get(open).is_some_and(|token| token.is('['));
                let word = open.checked_sub(1).and_then(|word| self.pairs.get(word));
                let is_call = word
                    .is_some_and(|word| word.kind == TokenKind::Word && !is_statement(word.text));
                before = match is_index || is_call {
                    true => open.saturating_sub(1),
                    false => open,
                };
                if !is_index && !is_call {
                    return before;
                }
            }
            if self.pairs.get(before).is_none_or(|base| base.kind != TokenKind::Word) {
                // A designator in an initializer.
                return start - 1;
            }
            start = before;
        }
        start
    }

    /// Whether a declaration or a parameter has this name, or a function.
    fn is_declared_here(&self, at: usize) -> bool {
        let stars = self.pairs.slice(0, at).iter().rev().take_while(|token| token.is('*')).count();
        let before = (at - stars).checked_sub(1).and_then(|at| self.pairs.get(at));
        let is_function = self.pairs.get(at + 1).is_some_and(|open| open.is('('));
        let is_expression = |word: &str| {
            is_statement(word) || matches!(word.trim_matches('_'), "sizeof" | "typeof" | "alignof")
        };
        is_function
            || before
                .is_some_and(|before| before.kind == TokenKind::Word && !is_expression(before.text))
    }

    /// Classifies what is done with an operand, and follows where it goes.
    fn judge(&mut self, start: usize, end: usize, kind: Kind, at: usize) -> Result<(), Diagnostic> {
        let operand =
            Operand { pairs: self.pairs, start, end, value: Value::Pointer, is_moved: false };
        let (found, is_moved) = operand.judge();
        self.is_moved |= is_moved;
        self.is_given |= matches!(found, Use::Copied(..) | Use::Listed(_));
        let is_program = kind == Kind::Program;
        match found {
            Use::Read => Ok(()),
            Use::Store => Err(self.changed(at)),
            _ if self.is_const => Ok(()),
            Use::Copied(equals, _) if is_program => self.copied(equals, kind, at),
            Use::Copied(_, Value::Address) => {
                Err(self.error(at, self.what(at, "its address is taken")))
            }
            Use::Copied(equals, _) => self.copied(equals, kind, at),
            Use::Listed(brace) => match self.is_program(brace) {
                true => self.of_program(at),
                false if is_program => Ok(()),
                false => Err(self.error(at, self.what(at, "a structure has it without a name"))),
            },
            Use::Passed { function, nth } => self.passed(function, nth, kind, at),
            Use::Other if is_program => Ok(()),
            Use::Other => Err(self.error(at, self.what(at, "this use is not read"))),
        }
    }

    /// Follows the pointer to what an assignment gives it to.
    fn copied(&mut self, equals: usize, kind: Kind, at: usize) -> Result<(), Diagnostic> {
        let to = equals
            .checked_sub(1)
            .filter(|to| self.pairs.get(*to).is_some_and(|token| token.kind == TokenKind::Word));
        let Some((to, name)) = to.and_then(|to| Some((to, self.pairs.get(to)?))) else {
            return match kind {
                Kind::Program => Ok(()),
                _ => Err(self.error(at, self.what(at, "a pointer to it is stored elsewhere"))),
            };
        };
        if self.is_member(to) {
            // All programs have the members of one that is followed.
            return match kind {
                Kind::Program => Ok(()),
                _ => self.add(name.text, Kind::Member, None, at).and_then(|()| self.programs(at)),
            };
        }
        let is_star = |at: usize| self.pairs.get(at).is_some_and(|token| token.is('*'));
        let is_declared = self.is_declared_here(to);
        if to.checked_sub(1).is_some_and(is_star) && !is_declared {
            return Err(self.error(at, self.what(at, "a pointer to it is stored elsewhere")));
        }
        let mut blocks = self.pairs.blocks(to);
        let block = if is_declared { blocks.next() } else { blocks.last() };
        let is_global = !is_declared && self.global.contains(name.text);
        self.add(name.text, kind, block.filter(|_| !is_global), at)
    }

    /// Whether a brace begins the initializer of a program.
    fn is_program(&self, brace: usize) -> bool {
        let outer = self.pairs.blocks(brace).last().filter(|open| {
            open.checked_sub(1).and_then(|at| self.pairs.get(at)).is_some_and(|token| token.is('='))
        });
        let has_type = |at: usize| {
            declaration_before(self.pairs.tokens(), at)
                .iter()
                .any(|token| PROGRAMS.contains(&token.text))
        };
        has_type(brace) || outer.is_some_and(has_type)
    }

    /// The array is the one of a program.
    fn of_program(&mut self, at: usize) -> Result<(), Diagnostic> {
        self.add("filter", Kind::Member, None, at)?;
        self.add("bf_insns", Kind::Member, None, at)?;
        self.programs(at)
    }

    /// Enters the variables that are programs.
    fn programs(&mut self, at: usize) -> Result<(), Diagnostic> {
        if std::mem::replace(&mut self.has_programs, true) {
            return Ok(());
        }
        for (here, token) in self.pairs.tokens().iter().enumerate() {
            if !PROGRAMS.contains(&token.text) {
                continue;
            }
            let rest = self.pairs.slice(here + 1, usize::MAX);
            let stars = rest.iter().take_while(|token| token.is('*')).count();
            let Some(name) = rest.get(stars).filter(|name| name.kind == TokenKind::Word) else {
                continue;
            };
            let open = self.pairs.enclosing(here);
            let is_head =
                open.and_then(|open| self.pairs.get(open)).is_some_and(|open| open.is('('));
            let block = match is_head {
                // A parameter, if that is the head of a function with its body.
                true => open.and_then(|open| self.pairs.partner(open)).map(|close| close + 1),
                false => self.pairs.blocks(here).next(),
            };
            let is_block = |at: usize| self.pairs.get(at).is_some_and(|open| open.is('{'));
            if name.text != "const" && block.is_none_or(is_block) {
                self.add(name.text, Kind::Program, block, at)?;
            }
        }
        Ok(())
    }

    /// Follows an argument into the function.
    fn passed(
        &mut self,
        function: &'a str,
        nth: usize,
        kind: Kind,
        at: usize,
    ) -> Result<(), Diagnostic> {
        let copies = matches!(function.trim_start_matches("__builtin_"), "memcpy" | "memmove");
        let open = self.pairs.enclosing(at);
        let close = open.and_then(|open| self.pairs.partner(open));
        let is_only =
            open.zip(close).is_some_and(|(open, close)| self.pairs.commas(open + 1, close) == 0);
        if copies && nth == 1 {
            return self.copied_by(at);
        }
        if (copies && nth == 2) || is_reader(function, is_only) {
            return Ok(());
        }
        if self.followed.contains(&(function, nth, kind)) {
            return Ok(());
        }
        let mut is_known = false;
        for here in 0..self.pairs.tokens().len() {
            let is_named = self.pairs.get(here).is_some_and(|token| token.text == function);
            let is_open = self.pairs.get(here + 1).is_some_and(|token| token.is('('));
            let close = self.pairs.partner(here + 1).filter(|_| is_named && is_open);
            let Some(close) = close.filter(|close| *close < at || here > at) else { continue };
            let Some((from, to)) = self.parameter(here + 2, close, nth) else { continue };
            let parameter = self.pairs.slice(from, to);
            let name = parameter.iter().rposition(|token| token.kind == TokenKind::Word);
            let next = self.pairs.get(close + 1);
            if next.is_some_and(|next| next.is('{')) {
                let Some(name) = name.and_then(|name| self.pairs.get(from + name)) else {
                    continue;
                };
                is_known = true;
                self.add(name.text, kind, Some(close + 1), at)?;
            } else if next.is_some_and(|next| next.is(';')) {
                // A prototype, not a call.
                let is_const = parameter.iter().any(|token| token.text == "const");
                let is_type = parameter.iter().any(|token| {
                    matches!(token.text, "struct" | "void") || token.text.contains("sock_f")
                });
                is_known |= is_const && is_type;
            }
        }
        match is_known {
            true => {
                self.followed.insert((function, nth, kind));
                Ok(())
            }
            false => {
                Err(self.error(at, self.what(at, &format!("it is passed to {}", quote(function)))))
            }
        }
    }

    /// The argument or parameter with an index between two places.
    fn parameter(&self, from: usize, to: usize, nth: usize) -> Option<(usize, usize)> {
        let mut start = from;
        for _ in 0..nth {
            let comma = self.pairs.skip(start, to - start, |token| token.is(','));
            if comma >= to {
                return None;
            }
            start = comma + 1;
        }
        let end = self.pairs.skip(start, to - start, |token| token.is(','));
        (start < to).then_some((start, end.min(to)))
    }

    /// `memcpy(to, f, …)`: what is changed there is another program than the array.
    fn copied_by(&mut self, at: usize) -> Result<(), Diagnostic> {
        let open = self.pairs.enclosing(at);
        let to = open.and_then(|open| self.parameter(open + 1, at, 0));
        let to = to.map(|(from, to)| (from, self.pairs.slice(from, to)));
        match to {
            Some((from, [.., name])) if name.kind == TokenKind::Word => {
                let last = self.pairs.skip(from, usize::MAX, |token| token.is(',')) - 1;
                let kind = if self.is_member(last) { Kind::Member } else { Kind::Variable };
                let block = self.pairs.blocks(at).last().filter(|_| kind == Kind::Variable);
                self.add(name.text, kind, block, at)
            }
            _ => Err(self.error(at, self.what(at, "it is copied elsewhere"))),
        }
    }

    /// Why the array may not be the filter.
    fn what(&self, at: usize, why: &str) -> String {
        let name = self.pairs.get(at).filter(|name| name.kind == TokenKind::Word);
        let name = name.map_or("the array".to_owned(), |name| quote(name.text).to_string());
        format!("{name} may be changed here, and then it is not the filter: {why}")
    }

    fn error(&self, at: usize, message: String) -> Diagnostic {
        let position = self.pairs.get(at).map(|token| token.position);
        Diagnostic::error(position, message).help(
            "paste only the array if this does not change it, or read the running process (pid:N)",
        )
    }

    fn changed(&self, at: usize) -> Diagnostic {
        let position = self.pairs.get(at).map(|token| token.position);
        let message =
            "an instruction is changed when the program runs, so the array alone is not the filter";
        Diagnostic::error(position, message)
            .help("paste only the array as it is after this, or read the running process (pid:N)")
    }
}

/// Whether a function only reads what an argument points to: the kernel's interface to install programs, under the name of a
/// usual wrapper, and functions and macros of libraries.
fn is_reader(function: &str, is_only: bool) -> bool {
    const INSTALL: [&str; 7] =
        ["prctl", "seccomp", "syscall", "setsockopt", "ioctl", "setfilter", "attach_filter"];
    const WRAPPERS: [&str; 6] = ["sys_", "safe_", "raw_", "real_", "internal_", "pcap_"];
    const PRINT: [&str; 11] = [
        "printf",
        "fprintf",
        "dprintf",
        "write",
        "send",
        "sendto",
        "fwrite",
        "free",
        "assert",
        "memcmp",
        "bpf_validate",
    ];
    /// The words in the names of macros for the number of elements.
    const COUNT: [&str; 24] = [
        "ARRAY",
        "ARRAYSIZE",
        "ARRAYLEN",
        "ARRAYLENGTH",
        "ARRAYCOUNT",
        "SIZE",
        "SIZEOF",
        "LEN",
        "LENGTH",
        "LENGTHOF",
        "COUNT",
        "COUNTOF",
        "ELEMENTS",
        "ELEMENTSOF",
        "ELEMS",
        "NELEM",
        "NELEMS",
        "NELEMENTS",
        "NELTS",
        "ITEMS",
        "NITEMS",
        "NUM",
        "N",
        "OF",
    ];
    let lower = function.to_ascii_lowercase();
    let name = lower.trim_start_matches('_');
    let name = WRAPPERS.iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
    let is_count = || {
        let upper = function.to_ascii_uppercase();
        let upper = upper.strip_prefix("G_").unwrap_or(&upper);
        let mut words = upper.split('_').filter(|word| !word.is_empty());
        is_only && words.all(|word| COUNT.contains(&word))
    };
    INSTALL.contains(&name) || PRINT.contains(&function) || is_count()
}
