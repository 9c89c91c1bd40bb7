//! The words of a text in C by their use, the parameters of functions, and what known functions do with an array.

use std::collections::{BTreeMap, BTreeSet};

use super::changed::is_type;
use super::headers::has_word;
use super::pairs::Pairs;
use crate::token::Token;

/// The places of words before a parenthesis, and the words elsewhere.
pub(super) fn words<'a>(
    pairs: &Pairs<'_, 'a>,
) -> (BTreeMap<&'a str, Vec<usize>>, BTreeSet<&'a str>) {
    let (mut calls, mut values) = (BTreeMap::<_, Vec<usize>>::new(), BTreeSet::new());
    for (at, token) in pairs.tokens().iter().enumerate() {
        if !token.is_name() {
            continue;
        }
        match pairs.get(at + 1).is_some_and(|open| open.is('(')) {
            true => calls.entry(token.text).or_default().push(at),
            false => {
                values.insert(token.text);
            }
        }
    }
    (calls, values)
}

/// The words in the definitions of unions, whose members are at the same place.
pub(super) fn union_words<'a>(pairs: &Pairs<'_, 'a>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut end = 0;
    for (at, token) in pairs.tokens().iter().enumerate() {
        if token.text == "union" {
            let open = pairs.skip(at, 16, |token| token.is(';'));
            let inside = (at..open).rev().find_map(|at| pairs.partner(at).filter(|to| *to < at));
            let close = inside.and_then(|open| pairs.partner(open));
            end = end.max(close.unwrap_or(at));
        } else if at < end && token.is_name() {
            found.insert(token.text);
        }
    }
    found
}

/// The words outside of all pairs.
pub(super) fn global_words<'a>(pairs: &Pairs<'_, 'a>) -> BTreeSet<&'a str> {
    let tokens = pairs.tokens().iter().enumerate();
    let is_global =
        |(at, token): &(usize, &Token<'_>)| token.is_name() && pairs.enclosing(*at).is_none();
    tokens.filter(is_global).map(|(_, token)| token.text).collect()
}

/// The name of a parameter: the word after the last `*`, or else the last one before `[` or an attribute.
pub(super) fn parameter_name<'a>(
    pairs: &Pairs<'_, 'a>,
    (from, to): (usize, usize),
) -> Option<&'a str> {
    let end = pairs.skip(from, to - from, |token| token.text.starts_with("__attribute"));
    let tokens = pairs.slice(from, end.min(to));
    let end = tokens.iter().position(|token| token.is('[')).unwrap_or(tokens.len());
    let tokens = tokens.get(..end)?;
    if tokens.iter().any(|token| token.is('(')) {
        return None;
    }
    let star = tokens.iter().rposition(|token| token.is('*'));
    let mut words = tokens.get(star.map_or(0, |star| star + 1)..)?.iter().filter(|token| {
        token.is_name()
            && !matches!(token.text.trim_matches('_'), "const" | "restrict" | "volatile")
    });
    let name = if star.is_some() { words.next() } else { words.next_back() };
    name.map(|name| name.text)
}

/// The argument or parameter with an index between two places.
pub(super) fn parameter(
    pairs: &Pairs<'_, '_>,
    (from, to): (usize, usize),
    nth: usize,
) -> Option<(usize, usize)> {
    let mut start = from;
    for _ in 0..nth {
        let comma = pairs.skip(start, to - start, |token| token.is(','));
        if comma >= to {
            return None;
        }
        start = comma + 1;
    }
    let end = pairs.skip(start, to - start, |token| token.is(','));
    (start < to).then_some((start, end.min(to)))
}

/// Whether a parameter is a pointer to constant instructions: `const struct sock_filter *p`, not `struct sock_filter *const p`.
pub(super) fn is_constant_pointer(parameter: &[Token<'_>]) -> bool {
    let star = parameter.iter().position(|token| token.is('*') || token.is('['));
    let before = parameter.get(..star.unwrap_or(0)).unwrap_or_default();
    before.iter().any(|token| token.text == "const")
        && before.iter().any(|token| matches!(token.text, "struct" | "void") || is_type(token))
}

/// Whether a function copies what an argument points to: `memcpy`, `std::copy`, `memdup`.
pub(super) fn is_copy(function: &str) -> bool {
    ["cpy", "copy", "move", "dup"].iter().any(|part| function.contains(part))
}

/// Whether a function only reads what an argument points to: for a program the kernel's interface to install it, under the
/// name of a usual wrapper, and `memset`, after which there is no program; for an array functions and macros of libraries.
pub(super) fn is_reader(function: &str, is_only: bool, is_program: bool) -> bool {
    const INSTALL: [&str; 7] =
        ["prctl", "seccomp", "syscall", "setsockopt", "ioctl", "setfilter", "attach_filter"];
    const WRAPPERS: [&str; 6] = ["sys_", "safe_", "raw_", "real_", "internal_", "pcap_"];
    const PRINT: &str =
        "printf fprintf dprintf write send sendto fwrite free assert memcmp bpf_validate";
    let lower = function.to_ascii_lowercase();
    let name = lower.trim_start_matches('_');
    let name = WRAPPERS.iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
    let clears = matches!(function, "memset" | "bzero" | "__builtin_memset");
    (is_program && (INSTALL.contains(&name) || clears))
        || has_word(PRINT, function)
        || (is_only && is_count(function))
}

/// Whether this is the name of a macro for the number of elements of an array: `ARRAY_SIZE`, `G_N_ELEMENTS`, `nitems`.
pub(super) fn is_count(function: &str) -> bool {
    const WORDS: &str = "ARRAY ARRAYSIZE ARRAYLEN ARRAYLENGTH ARRAYCOUNT SIZE SIZEOF LEN LENGTH LENGTHOF COUNT \
        COUNTOF ELEMENTS ELEMENTSOF ELEMS NELEM NELEMS NELEMENTS NELTS ITEMS NITEMS NUM N OF";
    let upper = function.to_ascii_uppercase();
    let upper = upper.strip_prefix("G_").unwrap_or(&upper);
    let mut words = upper.split('_').filter(|word| !word.is_empty());
    words.all(|word| has_word(WORDS, word))
}
