//! The types of integers by name: those of C, of the kernel's and the C library's headers, of Rust and Go, and those
//! that a text defines with `typedef`.

use std::collections::HashMap;

use super::integer::{Model, Type};
use super::language::Language;
use crate::lexer::{Token, TokenKind};

/// The types of a text.
pub(super) struct Types<'a> {
    language: Language,
    model: Model,
    /// Those that the text defines; `None` for what is not an integer of C.
    defined: HashMap<&'a str, Option<Type>>,
}

/// The longest name of a type has this many words.
const MAX_WORDS: usize = 6;

impl<'a> Types<'a> {
    pub(super) fn of(tokens: &[Token<'a>], language: Language, model: Model) -> Types<'a> {
        let mut types = Types { language, model, defined: HashMap::new() };
        if language != Language::C {
            return types;
        }
        for (at, _) in tokens.iter().enumerate().filter(|(_, token)| token.text == "typedef") {
            let after = tokens.get(at + 1..).unwrap_or_default();
            let end = after.iter().take(MAX_WORDS + 2).position(|token| token.is(';'));
            let Some((name, words)) =
                end.and_then(|end| after.get(..end)).and_then(<[_]>::split_last)
            else {
                continue;
            };
            let kind = types.named(words).filter(|(_, length)| *length == words.len());
            types.defined.insert(name.text, kind.map(|(kind, _)| kind));
        }
        types
    }

    /// The type whose name begins here, and the number of words of its name.
    pub(super) fn named(&self, tokens: &[Token<'_>]) -> Option<(Type, usize)> {
        let words: Vec<&str> = tokens
            .iter()
            .take(MAX_WORDS + 1)
            .take_while(|token| token.kind == TokenKind::Word)
            .map(|token| token.text)
            .take_while(|word| self.is_word(word))
            .collect();
        let kind = match words.as_slice() {
            [only] if self.language != Language::C => self.single(only),
            _ if self.language != Language::C => None,
            words => self.of_words(words),
        };
        Some((kind?, words.len()))
    }

    /// Whether a word may belong to the name of a type.
    pub(super) fn is_word(&self, word: &str) -> bool {
        match self.defined.get(word) {
            Some(kind) => kind.is_some(),
            None => {
                (self.language == Language::C && KEYWORDS.contains(&word))
                    || self.single(word).is_some()
            }
        }
    }

    fn single(&self, word: &str) -> Option<Type> {
        match self.defined.get(word) {
            Some(kind) => *kind,
            None => untyped(word, self.language, self.model),
        }
    }

    /// `unsigned long int` in any order, or one defined name with qualifiers.
    fn of_words(&self, words: &[&str]) -> Option<Type> {
        let count = |word| words.iter().filter(|other| **other == word).count();
        let qualifiers = count("const") + count("volatile");
        let others = words.iter().filter(|word| !KEYWORDS.contains(word));
        let own: Vec<Type> = others.map(|word| self.single(word)).collect::<Option<_>>()?;
        if let [only] = own.as_slice() {
            return (words.len() == qualifiers + 1).then_some(*only);
        }
        let counts = (count("char"), count("short"), count("int"), count("long"));
        let (signed, unsigned) = (count("signed"), count("unsigned"));
        let is_whole = own.is_empty() && signed + unsigned <= 1 && words.len() > qualifiers;
        let is_signed = unsigned == 0;
        match counts {
            _ if !is_whole => None,
            (1, 0, 0, 0) if signed + unsigned == 1 => Some(Type::new(1, 8, is_signed)),
            // Plain `char`; where its sign is not known, it is not a type that is read.
            (1, 0, 0, 0) => Some(Type::new(1, 8, self.model.is_char_signed?)),
            (0, 1, 0 | 1, 0) => Some(Type::new(2, 16, is_signed)),
            (0, 0, 0 | 1, 1) => self.model.is_known.then(|| self.model.long(is_signed)),
            (0, 0, 0 | 1, 2) => Some(Type::new(5, 64, is_signed)),
            (0, 0, 1, 0) => Some(Type::new(3, 32, is_signed)),
            (0, 0, 0, 0) if signed + unsigned == 1 => Some(Type::new(3, 32, is_signed)),
            _ => None,
        }
    }
}

/// The words of the types of C.
const KEYWORDS: &[&str] =
    &["char", "short", "int", "long", "signed", "unsigned", "const", "volatile"];

/// A type with one name, which headers or the language define.
pub(super) fn untyped(word: &str, language: Language, model: Model) -> Option<Type> {
    let fixed = |bits: u8, is_signed| {
        Some(match bits {
            8 => Type::new(1, 8, is_signed),
            16 => Type::new(2, 16, is_signed),
            32 => Type::new(3, 32, is_signed),
            _ if model.long_bits == 64 && model.is_known => model.long(is_signed),
            _ => Type::new(5, 64, is_signed),
        })
    };
    let pointer = |is_signed| match model.long_bits {
        _ if !model.is_known => None,
        64 => Some(model.long(is_signed)),
        _ => fixed(32, is_signed),
    };
    match (word, language) {
        ("u8" | "__u8" | "uint8_t" | "u_int8_t" | "uint8" | "u_char", _) => fixed(8, false),
        ("u16" | "__u16" | "uint16_t" | "u_int16_t" | "uint16" | "u_short" | "ushort", _) => {
            fixed(16, false)
        }
        ("u32" | "__u32" | "uint32_t" | "u_int32_t" | "uint32" | "u_int", _) => fixed(32, false),
        ("u64" | "__u64" | "uint64_t" | "u_int64_t" | "uint64", _) => fixed(64, false),
        ("i8" | "s8" | "__s8" | "int8_t" | "int8", _) => fixed(8, true),
        ("i16" | "s16" | "__s16" | "int16_t" | "int16", _) => fixed(16, true),
        ("i32" | "s32" | "__s32" | "int32_t" | "int32" | "c_int", _) => fixed(32, true),
        ("i64" | "s64" | "__s64" | "int64_t" | "int64", _) => fixed(64, true),
        ("c_uint", _) => fixed(32, false),
        ("c_short", _) => fixed(16, true),
        ("c_ushort", _) => fixed(16, false),
        ("c_uchar", _) => fixed(8, false),
        ("c_long", _) => model.is_known.then(|| model.long(true)),
        ("c_ulong", _) => model.is_known.then(|| model.long(false)),
        ("usize", _) | ("uint" | "uintptr", Language::Go) => pointer(false),
        ("isize", _) | ("int", Language::Go) => pointer(true),
        ("uint", Language::C) => fixed(32, false),
        ("ulong", Language::C) => model.is_known.then(|| model.long(false)),
        ("size_t" | "uintptr_t", Language::C) => model.is_known.then(|| model.size()),
        ("ssize_t" | "ptrdiff_t" | "intptr_t", Language::C) => pointer(true),
        ("uintmax_t", Language::C) => fixed(64, false),
        ("intmax_t", Language::C) => fixed(64, true),
        ("_Bool" | "bool", Language::C) => Some(Type::BOOL),
        _ => None,
    }
}
