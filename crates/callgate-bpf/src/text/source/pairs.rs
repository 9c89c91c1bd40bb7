//! Parentheses, brackets and braces that belong together.

use crate::token::{Token, TokenKind};

/// The tokens of a text, with the pairs among them.
pub(super) struct Pairs<'t, 'a> {
    tokens: &'t [Token<'a>],
    /// The other one of a pair; of a token that is in no pair, itself.
    partners: Vec<u32>,
    /// The mark that opens what a token is in, plus 1; 0 outside.
    parents: Vec<u32>,
    /// How many commas are before a token in the same pair.
    commas: Vec<u32>,
    /// The first token that is in too many pairs.
    too_deep: Option<usize>,
}

/// In how many pairs a token may be; what goes through the pairs around a token takes as many steps.
pub(super) const MAX_DEPTH: usize = 256;

impl<'t, 'a> Pairs<'t, 'a> {
    pub(super) fn new(tokens: &'t [Token<'a>]) -> Self {
        let mut partners: Vec<u32> = (0u32..).take(tokens.len()).collect();
        let mut parents = Vec::with_capacity(tokens.len());
        let mut commas = Vec::with_capacity(tokens.len());
        // Those in what is open, and in what is around it.
        let (mut count, mut outer) = (0u32, Vec::new());
        let mut open: Vec<(u32, char)> = Vec::new();
        let mut too_deep = None;
        // How many of them wait for `)`, `]` and `}`.
        let mut waiting = [0usize; 3];
        let kind = |close: char| [')', ']', '}'].iter().position(|one| *one == close);
        for (at, token) in (0u32..).zip(tokens) {
            let parent = |open: &[(u32, char)]| open.last().map_or(0, |(at, _)| at + 1);
            let opened = match token.kind {
                TokenKind::Mark('(') => Some(')'),
                TokenKind::Mark('[') => Some(']'),
                TokenKind::Mark('{') => Some('}'),
                _ => None,
            };
            if let Some(close) = opened {
                parents.push(parent(&open));
                commas.push(count);
                outer.push(std::mem::take(&mut count));
                open.push((at, close));
                if open.len() > MAX_DEPTH {
                    too_deep.get_or_insert(at as usize);
                }
                if let Some(count) = kind(close).and_then(|kind| waiting.get_mut(kind)) {
                    *count += 1;
                }
                continue;
            }
            let closed = match token.kind {
                TokenKind::Mark(mark) => kind(mark).filter(|kind| waiting.get(*kind) > Some(&0)),
                _ => None,
            };
            // One that is not closed ends with what is around it.
            while let Some((from, close)) = closed.and_then(|_| open.pop()) {
                count = outer.pop().unwrap_or_default();
                if let Some(count) = kind(close).and_then(|kind| waiting.get_mut(kind)) {
                    *count -= 1;
                }
                if kind(close) == closed {
                    for (place, other) in [(from, at), (at, from)] {
                        if let Some(place) = partners.get_mut(place as usize) {
                            *place = other;
                        }
                    }
                    break;
                }
            }
            parents.push(parent(&open));
            commas.push(count);
            count += u32::from(token.is(','));
        }
        Pairs { tokens, partners, parents, commas, too_deep }
    }

    /// The first token that is in more than [`MAX_DEPTH`] pairs.
    pub(super) fn too_deep(&self) -> Option<usize> {
        self.too_deep
    }

    pub(super) fn get(&self, at: usize) -> Option<&'t Token<'a>> {
        self.tokens.get(at)
    }

    /// The token at a distance before a place.
    pub(super) fn before(&self, at: usize, distance: usize) -> Option<&'t Token<'a>> {
        self.get(at.checked_sub(distance)?)
    }

    pub(super) fn is(&self, at: usize, mark: char) -> bool {
        self.get(at).is_some_and(|token| token.is(mark))
    }

    pub(super) fn is_before(&self, at: usize, distance: usize, mark: char) -> bool {
        self.before(at, distance).is_some_and(|token| token.is(mark))
    }

    /// Whether a word is the member of a structure here.
    pub(super) fn is_member(&self, at: usize) -> bool {
        self.is_before(at, 1, '.') || (self.is_before(at, 1, '>') && self.is_before(at, 2, '-'))
    }

    pub(super) fn tokens(&self) -> &'t [Token<'a>] {
        self.tokens
    }

    /// The tokens from one place up to another, or to the end.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'t [Token<'a>] {
        self.tokens.get(from..to.min(self.tokens.len())).unwrap_or_default()
    }

    /// The other one of the pair that a token belongs to.
    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        self.partners.get(at).map(|other| *other as usize).filter(|other| *other != at)
    }

    /// The mark that opens what a place is in; a mark that opens or closes is in what is around its pair.
    pub(super) fn enclosing(&self, at: usize) -> Option<usize> {
        self.parents.get(at)?.checked_sub(1).map(|at| at as usize)
    }

    /// The braces around a place, from the inside out.
    pub(super) fn blocks(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let open = std::iter::successors(self.enclosing(at), |open| self.enclosing(*open));
        open.filter(|open| self.is(*open, '{'))
    }

    /// The first token from `from` on that satisfies `ends` and is not inside a pair; `most` tokens are searched.
    pub(super) fn skip(&self, from: usize, most: usize, ends: fn(&Token<'_>) -> bool) -> usize {
        let mut at = from;
        while let Some(token) = self.get(at).filter(|_| at - from < most) {
            match self.partner(at) {
                Some(close) if close > at => at = close + 1,
                _ if ends(token) => return at,
                _ => at += 1,
            }
        }
        at
    }

    /// The token after the last one before `from` that satisfies `ends` and is not inside a pair; `most` tokens are searched.
    pub(super) fn skip_back(
        &self,
        from: usize,
        most: usize,
        ends: fn(&Token<'_>) -> bool,
    ) -> usize {
        let mut at = from;
        while let Some(before) = at.checked_sub(1).filter(|_| from - at < most) {
            match (self.partner(before), self.get(before)) {
                (Some(open), _) if open < before => at = open,
                (_, Some(token)) if ends(token) => return at,
                _ => at = before,
            }
        }
        at
    }

    /// How many commas are before a place in the pair that it is in.
    pub(super) fn commas(&self, at: usize) -> usize {
        self.commas.get(at).map_or(0, |count| *count as usize)
    }

    /// Whether a brace begins the block of a function or of a statement, not an initializer or a statement expression.
    pub(super) fn is_block(&self, brace: usize) -> bool {
        let mut open = brace;
        while let Some(before) = open.checked_sub(1) {
            let Some(token) = self.get(before) else { return false };
            if !token.is('{') {
                return (token.is(')') && !self.is_literal(open))
                    || token.is_any(";}:")
                    || matches!(token.text, "else" | "do");
            }
            open = before;
        }
        true
    }

    /// Whether a brace follows the type of a compound literal: `(struct sock_filter[2]) {`.
    pub(super) fn is_literal(&self, brace: usize) -> bool {
        let Some(close) = brace.checked_sub(1) else { return false };
        let Some(open) = self.partner(close).filter(|open| *open < close) else { return false };
        // The number of elements is any expression.
        let bracket = close.checked_sub(1).filter(|last| self.is(*last, ']'));
        let end = bracket.and_then(|last| self.partner(last)).unwrap_or(close);
        self.is(close, ')')
            && is_type_name(self.slice(open + 1, end))
            && self.before(open, 1).is_none_or(|word| !word.is_name() || word.text == "return")
    }
}

/// Whether tokens between parentheses are the name of a type.
pub(super) fn is_type_name(tokens: &[Token<'_>]) -> bool {
    let Some((first, rest)) = tokens.split_first() else { return false };
    let is_part = |token: &Token<'_>| token.is_name() || token.is_any(":*[]");
    first.is_name()
        && (!rest.is_empty() || is_type_word(first.text))
        && tokens.iter().all(is_part)
        && !is_size(first.text)
}

/// Whether tokens between parentheses are the type of a cast, and not a function that is called: `(update)(f)`, `(all[1])(f)`.
pub(super) fn is_cast(tokens: &[Token<'_>]) -> bool {
    const FIRST: [&str; 6] = ["struct", "union", "enum", "const", "volatile", "unsigned"];
    let is_bracket = |token: &Token<'_>| token.is('[') || token.is(']');
    let is_pointer = tokens.last().is_some_and(|token| token.is('*'));
    let is_tagged =
        tokens.first().is_some_and(|first| FIRST.contains(&first.text) || is_type_word(first.text));
    is_type_name(tokens) && !tokens.iter().any(is_bracket) && (is_pointer || is_tagged)
}

/// Whether a word is the name of a type of the language or of usual headers.
fn is_type_word(word: &str) -> bool {
    const KNOWN: [&str; 11] = [
        "char", "short", "int", "long", "unsigned", "signed", "void", "auto", "bool", "float",
        "double",
    ];
    const USUAL: [&str; 13] = [
        "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "uint", "ushort", "ulong", "uchar",
        "Bool",
    ];
    KNOWN.contains(&word) || USUAL.contains(&word.trim_start_matches('_')) || word.ends_with("_t")
}

/// Words whose operands are not evaluated.
pub(super) fn is_size(word: &str) -> bool {
    matches!(word.trim_matches('_'), "sizeof" | "typeof" | "typeof_unqual" | "alignof" | "Alignof")
}
