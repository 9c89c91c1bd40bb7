//! What the kernel tells about its own types: BTF, the file `/sys/kernel/btf/vmlinux`.
//!
//! Programs that read the kernel's structures need the places of members, which change from kernel to
//! kernel, and the numbers of the types that they are attached to. One pass over the file finds those
//! that are asked for; nothing else is kept. Every read is checked: a file that is cut off or of another
//! form gives nothing.
//!
//! Source: `Documentation/bpf/btf.rst`.

/// A type information file.
pub(super) struct Btf<'f> {
    types: &'f [u8],
    strings: &'f [u8],
}

/// The kinds of types that are looked at.
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
pub(super) const TYPEDEF: u32 = 8;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const DATASEC: u32 = 15;
const ENUM64: u32 = 19;

/// A type: its number, kind and name, and what follows it.
struct Type<'f> {
    id: u32,
    kind: u32,
    name: &'f [u8],
    /// Members have a size in bits beside their offset.
    has_bit_fields: bool,
    rest: &'f [u8],
}

impl<'f> Btf<'f> {
    /// Understands the header; `None` for another file.
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

    fn name(&self, offset: u32) -> Option<&'f [u8]> {
        let rest = self.strings.get(offset as usize..)?;
        rest.split(|byte| *byte == 0).next()
    }

    /// All types, up to the first one that is not understood.
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
            Some(Type { id, kind, name: self.name(name)?, has_bit_fields: info >> 31 != 0, rest })
        })
    }

    /// The number of the first type of a kind and a name.
    pub(super) fn id(&self, kind: u32, name: &str) -> Option<u32> {
        let wanted = |found: &Type<'_>| found.kind == kind && found.name == name.as_bytes();
        self.types().find(wanted).map(|found| found.id)
    }

    /// Where in a structure a member starts, in bytes. The structure is the first of its name that has
    /// the member.
    pub(super) fn offset(&self, structure: &str, member: &str) -> Option<i16> {
        self.types()
            .filter(|found| found.kind == STRUCT && found.name == structure.as_bytes())
            .find_map(|found| {
                found.rest.chunks_exact(12).find_map(|entry| {
                    (self.name(word(entry, 0)?)? == member.as_bytes()).then_some(())?;
                    let bits = word(entry, 8)?;
                    let bits = if found.has_bit_fields { bits & 0xff_ffff } else { bits };
                    (bits % 8 == 0).then(|| i16::try_from(bits / 8).ok())?
                })
            })
    }
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
        let btf = Btf::new(&file).unwrap();
        assert_eq!((btf.id(TYPEDEF, "t"), btf.id(FUNC, "f")), (Some(3), Some(4)));
        assert_eq!((btf.id(FUNC, "t"), btf.id(FUNC, "none")), (None, None));
        assert_eq!(btf.offset("s", "b"), Some(4));
        // It starts inside a byte.
        assert_eq!(btf.offset("s", "c"), None);
        assert_eq!(btf.offset("t", "b"), None);
    }

    #[test]
    fn no_file_makes_it_fail() {
        let file = file();
        for length in 0..file.len() {
            if let Some(btf) = Btf::new(&file[..length]) {
                let _ = (btf.id(FUNC, "f"), btf.offset("s", "b"));
            }
        }
        for at in 0..file.len() {
            let mut broken = file.clone();
            broken[at] = 0xff;
            if let Some(btf) = Btf::new(&broken) {
                let _ = (btf.id(FUNC, "f"), btf.offset("s", "b"));
            }
        }
    }
}
