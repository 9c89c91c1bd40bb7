//! Reader of the kernel's type information (BTF), the file `/sys/kernel/btf/vmlinux`. `unsafe` code: mapping it.
//!
//! Programs that read the kernel's structures need the offsets of members, which differ between kernels, and the IDs of
//! the types that they attach to. One pass over the file finds those that are requested; nothing else is kept. Every
//! read is checked: a truncated or malformed file yields nothing.
//!
//! Source: `Documentation/bpf/btf.rst`.
//!
//! It has several megabytes, and a read returns at most a page of 4 KiB. Since Linux 6.16 the file can be mapped instead
//! (`btf_sysfs_vmlinux_mmap` in `kernel/bpf/sysfs_btf.c`). Only the kernel's own file never changes, so a file that
//! is mounted over it is read and not mapped.

use std::fs::File;
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

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

/// The kernel's type information.
pub(super) const PATH: &str = "/sys/kernel/btf/vmlinux";

/// The contents of the file.
pub(super) enum TypesFile {
    Mapped { start: *mut u8, len: usize },
    Read(Vec<u8>),
}

impl TypesFile {
    pub(super) fn open() -> io::Result<TypesFile> {
        /// Ten times the usual size.
        const MOST: u64 = 128 << 20;
        if let Some(mapped) = own_file().ok().and_then(|file| map(&file)) {
            return Ok(mapped);
        }
        let mut bytes = Vec::new();
        File::open(PATH)?.take(MOST).read_to_end(&mut bytes)?;
        Ok(TypesFile::Read(bytes))
    }
}

/// The kernel's own file in sysfs, not a file that is mounted over it.
fn own_file() -> io::Result<OwnedFd> {
    /// `SYSFS_MAGIC` of `include/uapi/linux/magic.h`.
    const SYSFS: u64 = 0x6265_6572;
    let sys = File::open("/sys")?;
    let mut found = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the kernel writes the whole structure when it succeeds.
    let kind = unsafe {
        (libc::fstatfs(sys.as_raw_fd(), found.as_mut_ptr()) == 0)
            // Its type differs between C libraries.
            .then(|| found.assume_init().f_type as u64)
    };
    if kind != Some(SYSFS) {
        return Err(io::Error::from(io::ErrorKind::NotFound));
    }
    // SAFETY: a structure of zeros is a valid value.
    let mut how: libc::open_how = unsafe { MaybeUninit::zeroed().assume_init() };
    how.flags = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_NO_XDEV | libc::RESOLVE_NO_SYMLINKS;
    let (path, size) = (c"kernel/btf/vmlinux", size_of_val(&how));
    // SAFETY: the kernel reads a string that ends with a zero byte, and a structure of this size.
    let file = unsafe {
        libc::syscall(libc::SYS_openat2, sys.as_raw_fd(), path.as_ptr(), &raw const how, size)
    };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(file as i32) })
}

fn map(file: &OwnedFd) -> Option<TypesFile> {
    let len = File::from(file.try_clone().ok()?).metadata().ok()?.len();
    let len = usize::try_from(len).ok()?;
    let (access, flags) = (libc::PROT_READ, libc::MAP_PRIVATE);
    // SAFETY: a new mapping at an address that the kernel chooses does not affect existing memory.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, file.as_raw_fd(), 0) };
    (start != libc::MAP_FAILED).then(|| TypesFile::Mapped { start: start.cast(), len })
}

impl Deref for TypesFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            // SAFETY: the mapping has `len` bytes and lives as long as `self`. Nothing writes to it: it is kernel memory
            // (`own_file`) that is read-only for the kernel, too.
            TypesFile::Mapped { start, len } => unsafe { std::slice::from_raw_parts(*start, *len) },
            TypesFile::Read(bytes) => bytes,
        }
    }
}

impl Drop for TypesFile {
    fn drop(&mut self) {
        if let TypesFile::Mapped { start, len } = *self {
            // SAFETY: `map` created this mapping, and no reference into it outlives `self`.
            unsafe { libc::munmap(start.cast(), len) };
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::bpf::mounted::with_mount;

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
        use super::super::asm::{MAIN, NOTE_VALUE, function_types};

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

    #[test]
    #[ignore = "needs root: mounts a file over another one"]
    fn only_the_kernels_own_file_is_mapped() {
        let own = TypesFile::open().unwrap();
        assert_eq!(own.get(..2), Some(&0xeb9f_u16.to_ne_bytes()[..]));
        with_mount(PATH, "another file", || {
            assert_eq!(own_file().unwrap_err().raw_os_error(), Some(libc::EXDEV));
            let file = TypesFile::open().unwrap();
            assert!(matches!(&file, TypesFile::Read(bytes) if bytes == b"another file"));
        });
    }
}
