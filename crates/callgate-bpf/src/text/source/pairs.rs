//! Parentheses, brackets and braces that belong together.

use crate::lexer::{Token, TokenKind};

/// The tokens of a text, with the pairs among them.
pub(super) struct Pairs<'t, 'a> {
    tokens: &'t [Token<'a>],
    /// The other one of a pair; of a token that is in no pair, itself.
    partners: Vec<u32>,
}

impl<'t, 'a> Pairs<'t, 'a> {
    pub(super) fn new(tokens: &'t [Token<'a>]) -> Self {
        let mut partners: Vec<u32> = (0u32..).take(tokens.len()).collect();
        let mut open: Vec<(u32, char)> = Vec::new();
        for (at, token) in (0u32..).zip(tokens) {
            let TokenKind::Mark(mark) = token.kind else { continue };
            match mark {
                '(' => open.push((at, ')')),
                '[' => open.push((at, ']')),
                '{' => open.push((at, '}')),
                ')' | ']' | '}' => {
                    // One that is not closed ends with what is around it.
                    let Some(found) = open.iter().rposition(|(_, close)| *close == mark) else {
                        continue;
                    };
                    let from = open.get(found).map(|(from, _)| *from);
                    open.truncate(found);
                    for (place, other) in [(from, at), (Some(at), from.unwrap_or(at))] {
                        let place = place.and_then(|place| partners.get_mut(place as usize));
                        if let Some(place) = place {
                            *place = other;
                        }
                    }
                }
                _ => {}
            }
        }
        Pairs { tokens, partners }
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

    /// The mark that opens what a place is in.
    pub(super) fn enclosing(&self, at: usize) -> Option<usize> {
        let mut at = at;
        while let Some(before) = at.checked_sub(1) {
            let token = self.get(before)?;
            at = match token.kind {
                TokenKind::Mark(')' | ']' | '}') => self.partner(before).unwrap_or(before),
                TokenKind::Mark('(' | '[' | '{') => return Some(before),
                _ => before,
            };
        }
        None
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
