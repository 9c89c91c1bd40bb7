//! Parentheses, brackets and braces that belong together.

use crate::lexer::{Token, TokenKind};

/// The tokens of a text, with the pairs among them.
pub(super) struct Pairs<'t, 'a> {
    tokens: &'t [Token<'a>],
    /// The other one of a pair; of a token that is in no pair, itself.
    partners: Vec<u32>,
    /// The mark that opens what a token is in, plus 1; 0 outside.
    parents: Vec<u32>,
    /// The first token that is in too many pairs.
    too_deep: Option<usize>,
}

/// In how many pairs a token may be; what goes through the pairs around a token takes as many steps.
pub(super) const MAX_DEPTH: usize = 256;

impl<'t, 'a> Pairs<'t, 'a> {
    pub(super) fn new(tokens: &'t [Token<'a>]) -> Self {
        let mut partners: Vec<u32> = (0u32..).take(tokens.len()).collect();
        let mut parents = Vec::with_capacity(tokens.len());
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
        }
        Pairs { tokens, partners, parents, too_deep }
    }

    /// The first token that is in more than [`MAX_DEPTH`] pairs.
    pub(super) fn too_deep(&self) -> Option<usize> {
        self.too_deep
    }

    pub(super) fn get(&self, at: usize) -> Option<&'t Token<'a>> {
        self.tokens.get(at)
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
        open.filter(|open| self.get(*open).is_some_and(|token| token.is('{')))
    }

    /// The first place from here on, outside pairs, where something ends; at most so many tokens further.
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

    /// The place after the last one before here, outside pairs, where something ends.
    pub(super) fn skip_back(&self, from: usize, ends: fn(&Token<'_>) -> bool) -> usize {
        let mut at = from;
        while let Some(before) = at.checked_sub(1) {
            match (self.partner(before), self.get(before)) {
                (Some(open), _) if open < before => at = open,
                (_, Some(token)) if ends(token) => return at,
                _ => at = before,
            }
        }
        at
    }

    /// How many commas are between two places, outside pairs.
    pub(super) fn commas(&self, from: usize, to: usize) -> usize {
        let (mut at, mut count) = (from, 0);
        while let Some(token) = self.get(at).filter(|_| at < to) {
            count += usize::from(token.is(','));
            at = match self.partner(at) {
                Some(close) if close > at => close + 1,
                _ => at + 1,
            };
        }
        count
    }
}
