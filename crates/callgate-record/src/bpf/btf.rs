//! Reader of the kernel's type information (BTF), the file `/sys/kernel/btf/vmlinux`.
//!
//! Programs that read the kernel's structures need the offsets of members, which differ between kernels, and the IDs of
//! the types that they attach to. One pass over the file finds those that are requested; nothing else is kept. Every
//! read is checked: a truncated or malformed file yields nothing.
//!
//! Source: `Documentation/bpf/btf.rst`.

/// A BTF file.
pub(super) struct Btf<'f> {
    types: &'f [u8],
    strings: &'f [u8],
}

/// Kinds of types.
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const DATASEC: u32 = 15;
const ENUM64: u32 = 19;

/// A requested item.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    /// The ID of the first typedef with this name.
    Typedef(&'static str),
    /// The offset of a member in bytes, in the first structure of this name that has the member.
    Member(&'static str, &'static str),
}

impl Wanted {
    /// Its name, or that of the member.
    pub(super) fn name(self) -> &'static str {
        match self {
            Wanted::Typedef(name) | Wanted::Member(_, name) => name,
        }
    }
}

/// A type, and the data that follows it.
struct Type<'f> {
    id: u32,
    kind: u32,
    /// The offset of its name in the strings.
    name: u32,
    /// Member offsets also contain a size in bits.
    has_bit_fields: bool,
    rest: &'f [u8],
}

impl<'f> Btf<'f> {
    /// Parses the header; `None` if it is not BTF.
    pub(super) fn new(file: &'f [u8]) -> Option<Btf<'f>> {
        const MAGIC: [u8; 2] = 0xeb9f_u16.to_ne_bytes();
        const VERSION: u8 = 1;
        if file.get(..2)? != MAGIC || *file.get(2)? != VERSION {
            return None;
        }
        let header = word(file, 4)? as usize;
        let section = |offset: usize| {
            let start = header.checked_add(word(file, offset)? as usize)?;
            file.get(start..start.checked_add(word(file, offset + 4)? as usize)?)
        };
        Some(Btf { types: section(8)?, strings: section(16)? })
    }

    /// Finds these items in one pass.
    pub(super) fn find<const N: usize>(&self, wanted: [Wanted; N]) -> [Option<u32>; N] {
        let mut found = [None; N];
        for ty in self.types().filter(|ty| matches!(ty.kind, STRUCT | TYPEDEF)) {
            let Some(name) = self.strings.get(ty.name as usize..) else { continue };
            for (found, wanted) in found.iter_mut().zip(wanted).filter(|(found, _)| found.is_none())
            {
                *found = match wanted {
                    Wanted::Typedef(wanted) if ty.kind == TYPEDEF && is_string(name, wanted) => {
                        Some(ty.id)
                    }
                    Wanted::Member(structure, member)
                        if ty.kind == STRUCT && is_string(name, structure) =>
                    {
                        self.offset(&ty, member)
                    }
                    _ => None,
                };
            }
            if found.iter().all(Option::is_some) {
                break;
            }
        }
        found
    }

    /// All types, up to the first unknown kind.
    fn types(&self) -> impl Iterator<Item = Type<'f>> {
        let mut left = self.types;
        (1..).map_while(move |id| {
            let (name, info) = (word(left, 0)?, word(left, 4)?);
            let (kind, count) = (info >> 24 & 0x1f, info as usize & 0xffff);
            let length = match kind {
                // An integer, a variable, a tag of a declaration.
                1 | 14 | 17 => 4,
                ARRAY => 12,
                STRUCT | UNION | DATASEC | ENUM64 => 12 * count,
                ENUM | FUNC_PROTO => 8 * count,
                // A pointer, a forward declaration, names and qualifiers, a function, a float.
                2 | 7..=FUNC | 16 | 18 => 0,
                _ => return None,
            };
            let (rest, next) = left.get(12..)?.split_at_checked(length)?;
            left = next;
            Some(Type { id, kind, name, has_bit_fields: info >> 31 != 0, rest })
        })
    }

    /// The offset of a member in bytes, if it starts at a byte boundary.
    fn offset(&self, structure: &Type<'_>, member: &str) -> Option<u32> {
        structure.rest.chunks_exact(12).find_map(|entry| {
            let name = self.strings.get(word(entry, 0)? as usize..)?;
            let bits = word(entry, 8)?;
            let bits = if structure.has_bit_fields { bits & 0xff_ffff } else { bits };
            (is_string(name, member) && bits % 8 == 0).then_some(bits / 8)
        })
    }
}

/// Whether the string at the start of `text` is `wanted`.
fn is_string(text: &[u8], wanted: &str) -> bool {
    text.strip_prefix(wanted.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `int`, `struct s { int; int b; int c: 3 }`, `typedef t`, `f()`.
    fn file() -> Vec<u8> {
        let strings = b"\0int\0s\0b\0c\0t\0f\0";
        let info = |kind: u32, count: u32| kind << 24 | count;
        let types: Vec<u32> = [
            vec![1, info(1, 0), 4, 32],
            vec![5, info(STRUCT, 3) | 1 << 31, 12, 0, 1, 0, 7, 1, 32, 9, 1, 3 << 24 | 65],
            vec![11, info(TYPEDEF, 0), 1],
            vec![13, info(FUNC, 0), 3],
        ]
        .concat();
        let length = types.len() as u32 * 4;
        let header = [24, 0, length, length, strings.len() as u32];
        let mut file = 0xeb9f_u16.to_ne_bytes().to_vec();
        file.extend([1, 0]);
        file.extend(header.iter().chain(&types).flat_map(|word| word.to_ne_bytes()));
        file.extend(strings);
        file
    }

    #[test]
    fn types_and_members_are_found() {
        let file = file();
        let wanted = [
            Wanted::Typedef("t"),
            // It does not start at a byte boundary.
            Wanted::Member("s", "c"),
            Wanted::Member("s", "b"),
            Wanted::Member("t", "b"),
            // A function, and an empty name.
            Wanted::Typedef("f"),
            Wanted::Typedef(""),
        ];
        let found = Btf::new(&file).unwrap().find(wanted);
        assert_eq!(found, [Some(3), None, Some(4), None, None, None]);
    }

    #[test]
    fn types_of_the_programs_functions_have_their_ids() {
        use super::super::function_types::{MAIN, NOTE_VALUE, function_types};

        let file = function_types();
        let btf = Btf::new(&file).unwrap();
        let functions = btf.types().filter(|ty| ty.kind == FUNC);
        let names: Vec<_> = functions.map(|ty| (ty.id, &btf.strings[ty.name as usize..])).collect();
        let [(NOTE_VALUE, first), (MAIN, second)] = names[..] else { panic!("{names:?}") };
        assert!(is_string(first, "note_value") && is_string(second, "main"));
    }

    #[test]
    fn malformed_files_cause_no_panic() {
        let file = file();
        let find = |file: &[u8]| {
            let wanted = [Wanted::Typedef("t"), Wanted::Member("s", "b"), Wanted::Typedef("none")];
            Btf::new(file).map(|btf| btf.find(wanted))
        };
        for length in 0..file.len() {
            find(&file[..length]);
        }
        for at in 0..file.len() {
            let mut broken = file.clone();
            broken[at] = 0xff;
            find(&broken);
        }
    }
}
