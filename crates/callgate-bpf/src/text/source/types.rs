//! The types of integers by name: those of C, of the kernel's and the C library's headers, of Rust and Go, and those
//! that a text defines with `typedef`. And the sizes of usual structures.

use std::collections::HashMap;

use super::headers::has_word;
use super::integer::{Model, Type};
use crate::lexer::Language;
use crate::token::{Token, TokenKind};

/// The types of a text.
pub(super) struct Types<'a> {
    language: Language,
    model: Model,
    /// Those that the text defines; `None` for what is not an integer of C.
    defined: HashMap<&'a str, Option<Type>>,
}

/// The longest name of a type has this many words.
const MAX_WORDS: usize = 6;
/// How many tokens of a `typedef` are looked at.
const MAX_TYPEDEF: usize = 2000;

impl<'a> Types<'a> {
    pub(super) fn of(tokens: &[Token<'a>], language: Language, model: Model) -> Types<'a> {
        let mut types = Types { language, model, defined: HashMap::new() };
        if language != Language::C {
            return types;
        }
        let (mut depth, mut next) = (0usize, 0);
        for (at, token) in tokens.iter().enumerate() {
            depth += usize::from(token.is('{'));
            depth -= usize::from(token.is('}') && depth > 0);
            let after = tokens.get(at + 1..).unwrap_or_default();
            let before = at.checked_sub(1).and_then(|at| tokens.get(at));
            match token.text {
                "typedef" => next = at + 1 + types.define(before, after, depth > 0),
                // What a `typedef` names.
                _ if at < next => {}
                "enum" => types.enumerate(after),
                name if types.is_declared(name, before, after) => {
                    types.defined.insert(name, None);
                }
                _ => {}
            }
        }
        types
    }

    /// Enters what a `typedef` defines, and returns how many tokens it has. Only a type with one name at the outermost level has
    /// a known meaning.
    fn define(
        &mut self,
        before: Option<&Token<'a>>,
        after: &[Token<'a>],
        is_inside: bool,
    ) -> usize {
        let starts =
            before.is_none_or(|before| !before.is_name() || before.text == "__extension__");
        let (mut depth, mut end) = (0usize, MAX_TYPEDEF.min(after.len()));
        let mut own: Vec<&Token<'a>> = Vec::new();
        for (at, token) in after.iter().enumerate().take(MAX_TYPEDEF) {
            depth -= usize::from(token.is('}') && depth > 0);
            match token.kind {
                _ if depth > 0 => {}
                TokenKind::Mark(';') => {
                    end = at;
                    break;
                }
                TokenKind::LineEnd => {}
                _ => own.push(token),
            }
            depth += usize::from(token.is('{'));
        }
        let is_whole = after.get(end).is_some_and(|end| end.is(';'));
        let plain = own.split_last().filter(|(name, words)| {
            let is_word = |token: &&Token<'_>| token.is_name();
            is_whole
                && starts
                && !is_inside
                && is_word(name)
                && !KEYWORDS.contains(&name.text)
                && words.len() <= MAX_WORDS
                && words.iter().all(is_word)
        });
        if let Some((name, words)) = plain {
            let words: Vec<Token<'a>> = words.iter().map(|word| **word).collect();
            let kind = self.named(&words).filter(|(_, length)| *length == words.len());
            let kind = kind.map(|(kind, _)| kind);
            let known = self.defined.entry(name.text).or_insert(kind);
            if *known != kind {
                *known = None;
            }
            return end;
        }
        // `typedef int (*name)(int);`, or after the members of a structure: the types before the name keep their meaning.
        let function = own.windows(4).find(|tokens| {
            matches!(tokens, [open, star, name, close] if open.is('(') && star.is('*')
                && name.is_name() && close.is(')'))
        });
        let names = match (function, own.iter().position(|token| token.is('}'))) {
            (Some([_, _, name, _]), _) => vec![*name],
            (_, Some(brace)) => own.split_off(brace),
            _ => own,
        };
        let words = names.iter().filter(|token| token.is_name());
        for word in words.filter(|word| !KEYWORDS.contains(&word.text)) {
            self.defined.insert(word.text, None);
        }
        end
    }

    /// Enumerators are not types.
    fn enumerate(&mut self, after: &[Token<'a>]) {
        let Some(open) = after.iter().take(4).position(|token| token.is('{')) else { return };
        let inside = after.get(open + 1..).unwrap_or_default();
        let mut before: Option<&Token<'a>> = None;
        for token in inside.iter().take_while(|token| !token.is('}')) {
            let is_name = before.is_none_or(|before| before.is(','));
            if is_name && self.single(token.text).is_some() {
                self.defined.insert(token.text, None);
            }
            if !token.is_line_end() {
                before = Some(token);
            }
        }
    }

    /// Whether the name of a type is declared here as something else: `int u32;`, `unsigned u32(int x)`, `u32 = 1`.
    fn is_declared(&self, name: &str, before: Option<&Token<'_>>, after: &[Token<'_>]) -> bool {
        let follows = |marks: &str| after.first().is_some_and(|next| next.is_any(marks));
        if KEYWORDS.contains(&name) || !follows("=;,)[(") {
            return false;
        }
        let is_type = |token: &Token<'_>| {
            !matches!(token.text, "const" | "volatile")
                && token.is_name()
                && self.is_word(token.text)
        };
        self.single(name).is_some() && (follows("=") || before.is_some_and(is_type))
    }

    /// The type whose name begins here, and the number of words of its name.
    pub(super) fn named(&self, tokens: &[Token<'_>]) -> Option<(Type, usize)> {
        let words = tokens.iter().take(MAX_WORDS + 1);
        let words = words.take_while(|token| token.is_name() && self.is_word(token.text));
        let words: Vec<&str> = words.map(|token| token.text).collect();
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

/// Types of Rust and Go, whose names mean in C what the text says.
const NOT_OF_C: &[&str] = &[
    "i8", "i16", "i32", "i64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "c_int", "c_uint", "c_short", "c_ushort", "c_uchar", "c_long", "c_ulong", "usize",
    "isize",
];

/// The number of bits and the sign of types that have both everywhere.
fn fixed_type(word: &str) -> Option<(u8, bool)> {
    const TYPES: [(&str, u8, bool); 8] = [
        ("u8 __u8 uint8_t u_int8_t uint8 u_char c_uchar", 8, false),
        ("u16 __u16 uint16_t u_int16_t uint16 u_short ushort c_ushort", 16, false),
        ("u32 __u32 uint32_t u_int32_t uint32 u_int c_uint", 32, false),
        ("u64 __u64 uint64_t u_int64_t uint64", 64, false),
        ("i8 s8 __s8 int8_t int8", 8, true),
        ("i16 s16 __s16 int16_t int16 c_short", 16, true),
        ("i32 s32 __s32 int32_t int32 c_int", 32, true),
        ("i64 s64 __s64 int64_t int64", 64, true),
    ];
    let found = TYPES.iter().find(|(words, ..)| has_word(words, word))?;
    Some((found.1, found.2))
}

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
        (word, Language::C) if NOT_OF_C.contains(&word) => None,
        (word, _) if fixed_type(word).is_some() => {
            let (bits, is_signed) = fixed_type(word)?;
            fixed(bits, is_signed)
        }
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

/// Structures of the headers with the same size on all architectures, and this size.
const SIZES: &[(&str, i128)] = &[
    ("struct seccomp_data", 64),
    ("struct sock_filter", 8),
    ("struct sockaddr", 16),
    ("struct sockaddr_in", 16),
    ("struct sockaddr_in6", 28),
    ("struct sockaddr_un", 110),
    ("struct sockaddr_nl", 12),
    ("struct sockaddr_ll", 20),
    ("struct sockaddr_storage", 128),
    ("struct in_addr", 4),
    ("struct in6_addr", 16),
    ("struct pollfd", 8),
    ("struct ethhdr", 14),
    ("struct iphdr", 20),
    ("struct tcphdr", 20),
    ("struct udphdr", 8),
];

/// The name of a structure of the headers with its keyword, and its size.
pub(super) fn structure(name: &str) -> Option<(&'static str, i128)> {
    SIZES.iter().copied().find(|(full, _)| full.strip_prefix("struct ") == Some(name))
}
