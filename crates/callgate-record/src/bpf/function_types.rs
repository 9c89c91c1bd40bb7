//! The types of the programs' functions, as the kernel wants them (BTF).
//!
//! With types, the verifier checks a function once for all arguments of these types, and not at each call.
//!
//! Source: `Documentation/bpf/btf.rst`.

use super::layout::ARG_WORDS;

/// The ID of the type of a program's main function.
pub(super) const MAIN: u32 = 7;
/// The ID of the type of [`note_value`](super::counters::note_value).
pub(super) const NOTE_VALUE: u32 = 6;

/// Kinds of types (`BTF_KIND_…`).
const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;

/// `BTF_FUNC_GLOBAL`: checked by its types alone.
const GLOBAL: u32 = 1;

/// The types: `u64`, `u64[]` with the words of an argument, pointers to both, and two functions that return `u64`.
pub(super) fn function_types() -> Vec<u8> {
    let mut names = Names(vec![0]);
    let (word, context) = (names.add("u64"), names.add("context"));
    let (value, words, key) = (names.add("value"), names.add("words"), names.add("key"));
    let (note_value, main) = (names.add("note_value"), names.add("main"));
    let head = |name: u32, kind: u32, count: u32, size_or_type: u32| {
        [name, kind << 24 | count, size_or_type]
    };
    let types: Vec<u32> = [
        // 1: u64; 2: an array of it; 3 and 4: pointers to them.
        &head(word, INT, 0, 8)[..],
        &[64],
        &head(0, ARRAY, 0, 0),
        &[1, 1, ARG_WORDS as u32],
        &head(0, POINTER, 0, 1),
        &head(0, POINTER, 0, 2),
        // 5 and 6: u64 note_value(u64 value, u64 (*words)[], u64 key).
        &head(0, FUNC_PROTO, 3, 1),
        &[value, 1, words, 4, key, 1],
        &head(note_value, FUNC, GLOBAL, 5),
        // 7 and 8: u64 main(u64 *context).
        &head(main, FUNC, GLOBAL, 8),
        &head(0, FUNC_PROTO, 1, 1),
        &[context, 3],
    ]
    .concat();
    const HEADER: u32 = 24;
    let length = 4 * types.len() as u32;
    let header = [HEADER, 0, length, length, names.0.len() as u32];
    let mut file = 0xeb9f_u16.to_ne_bytes().to_vec();
    // Version and flags.
    file.extend([1, 0]);
    file.extend(header.iter().chain(&types).flat_map(|word| word.to_ne_bytes()));
    file.extend(names.0);
    file
}

/// The strings of the types, each with a zero byte at its end.
struct Names(Vec<u8>);

impl Names {
    /// Adds a name; returns its offset.
    fn add(&mut self, name: &str) -> u32 {
        let offset = self.0.len() as u32;
        self.0.extend(name.bytes().chain([0]));
        offset
    }
}
