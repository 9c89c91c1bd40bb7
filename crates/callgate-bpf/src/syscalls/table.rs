//! Lookup of syscalls by name and by number.
//!
//! The generated table has a row per name and a column per numbering. At compile time, it is inverted into one array of
//! slots per column for numbers, and into a hash table for names. [`KnownSyscall`] is the result of a lookup by name.
//!
//! The generated table itself is not part of programs: with a pointer to each name, it would be 52 KB that the dynamic loader
//! relocates in each process that loads a library, a page fault for each 4 KB. Names, numbers and facts are arrays without pointers.

use callgate_core::Arch;

use super::facts::SyscallFacts;
use super::generated::multiplexed::MULTIPLEXED;
use super::generated::table::{__, ALIASES, COLUMNS, ELSEWHERE, SYSCALLS};
use crate::suggest::nearest;

/// The number of rows.
const COUNT: usize = SYSCALLS.len();

/// A column of text.
#[derive(Clone, Copy)]
enum Text {
    Name,
    Facts,
}

impl Text {
    const fn of_row(self, row: usize) -> &'static str {
        match self {
            Text::Name => SYSCALLS[row].0,
            Text::Facts => SYSCALLS[row].2,
        }
    }

    /// Where the text of each row starts in all of them one after the other, and where the last one ends.
    const fn starts(self) -> [u32; COUNT + 1] {
        let (mut starts, mut row) = ([0; COUNT + 1], 0);
        while row < COUNT {
            starts[row + 1] = starts[row] + self.of_row(row).len() as u32;
            row += 1;
        }
        starts
    }

    /// All of them one after the other.
    const fn joined<const LEN: usize>(self) -> [u8; LEN] {
        let (mut joined, mut at, mut row) = ([0; LEN], 0, 0);
        while row < COUNT {
            let mut rest = self.of_row(row).as_bytes();
            while let [byte, after @ ..] = rest {
                joined[at] = *byte;
                at += 1;
                rest = after;
            }
            row += 1;
        }
        joined
    }
}

/// The text of these bytes. Runs at compile time, and fails for anything but UTF-8.
#[expect(clippy::panic, reason = "it stops the compiler, not the program")]
const fn text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("not UTF-8"),
    }
}

static NAME_STARTS: [u32; COUNT + 1] = Text::Name.starts();
const NAMES: &str = text(&Text::Name.joined::<{ Text::Name.starts()[COUNT] as usize }>());
static FACT_STARTS: [u32; COUNT + 1] = Text::Facts.starts();
const FACTS: &str = text(&Text::Facts.joined::<{ Text::Facts.starts()[COUNT] as usize }>());

/// Per row, the number in each column.
static NUMBERS: [[u32; COLUMNS]; COUNT] = {
    let (mut numbers, mut row) = ([[__; COLUMNS]; COUNT], 0);
    while row < COUNT {
        numbers[row] = SYSCALLS[row].1;
        row += 1;
    }
    numbers
};

/// The text of a row.
fn of_row(text: &'static str, starts: &[u32; COUNT + 1], row: usize) -> Option<&'static str> {
    let [start, end] = *starts.get(row..)?.first_chunk()?;
    text.get(start as usize..end as usize)
}

/// The number of slots for ordinary numbers; larger than every number of every column.
const ORDINARY: u32 = 640;
/// The first of Arm's private syscalls (`__ARM_NR_BASE`), which have the slots after the ordinary ones.
const PRIVATE: u32 = 0xf0000;
/// The number of slots for private syscalls.
const PRIVATE_SLOTS: u32 = 16;
/// All slots.
pub(super) const SLOTS: usize = (ORDINARY + PRIVATE_SLOTS) as usize;
/// A slot without a syscall.
const EMPTY: u16 = u16::MAX;

/// Per column and slot, the row of the syscall.
pub(super) static ROWS: [[u16; SLOTS]; COLUMNS] = invert();

/// The slot of a number of the table; `None` for a number without a slot.
pub(super) const fn slot(number: u32) -> Option<usize> {
    if number < ORDINARY {
        Some(number as usize)
    } else if number >= PRIVATE && number - PRIVATE < PRIVATE_SLOTS {
        Some((ORDINARY + (number - PRIVATE)) as usize)
    } else {
        None
    }
}

/// The number of a slot.
const fn number_of_slot(slot: u32) -> u32 {
    if slot < ORDINARY { slot } else { PRIVATE + (slot - ORDINARY) }
}

/// The first slot with this number or a larger one; the number of slots if there is none.
pub(super) const fn slot_from(number: u32) -> usize {
    match slot(number) {
        Some(slot) => slot,
        None if number < PRIVATE => ORDINARY as usize,
        None => SLOTS,
    }
}

/// Inverts the table. Runs at compile time, and fails for a number without a slot or with two names.
#[expect(clippy::panic, reason = "it stops the compiler, not the program")]
const fn invert() -> [[u16; SLOTS]; COLUMNS] {
    let mut rows = [[EMPTY; SLOTS]; COLUMNS];
    let mut row = 0;
    while row < COUNT {
        let numbers = &SYSCALLS[row].1;
        let mut column = 0;
        while column < COLUMNS {
            if numbers[column] != __ {
                let Some(slot) = slot(numbers[column]) else { panic!("a number without a slot") };
                assert!(rows[column][slot] == EMPTY, "a number has two names");
                rows[column][slot] = row as u16;
            }
            column += 1;
        }
        row += 1;
    }
    rows
}

/// The number of slots for names, about four times the number of names.
const NAME_SLOTS: usize = 2048;

/// The length of the longest name.
const LONGEST_NAME: usize = {
    let (mut longest, mut row) = (0, 0);
    while row < COUNT {
        if SYSCALLS[row].0.len() > longest {
            longest = SYSCALLS[row].0.len();
        }
        row += 1;
    }
    longest
};

/// The row of each name, in the first free slot from the [hash](hash) of the name on.
pub(super) static ROWS_OF_NAMES: [u16; NAME_SLOTS] = {
    let (mut rows, mut row) = ([EMPTY; NAME_SLOTS], 0);
    while row < COUNT {
        let mut slot = hash(SYSCALLS[row].0);
        while rows[slot] != EMPTY {
            slot = (slot + 1) % NAME_SLOTS;
        }
        rows[slot] = row as u16;
        row += 1;
    }
    rows
};

/// The first slot of a name.
const fn hash(name: &str) -> usize {
    // An odd number whose bits look random: that of FxHash.
    const FACTOR: u64 = 0x517c_c1b7_2722_0a95;
    let (mut rest, mut hash) = (name.as_bytes(), 0u64);
    while let [a, b, c, d, after @ ..] = rest {
        hash = (hash ^ u32::from_le_bytes([*a, *b, *c, *d]) as u64).wrapping_mul(FACTOR);
        rest = after;
    }
    while let [byte, after @ ..] = rest {
        hash = (hash ^ *byte as u64).wrapping_mul(FACTOR);
        rest = after;
    }
    // The high bits depend on more of the name than the low ones.
    (hash >> 32) as usize % NAME_SLOTS
}

fn row_of_name(name: &str) -> Option<usize> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let (before, from) = ROWS_OF_NAMES.split_at_checked(hash(name))?;
    let rows = from.iter().chain(before).take_while(|row| **row != EMPTY);
    rows.map(|row| usize::from(*row)).find(|row| of_row(NAMES, &NAME_STARTS, *row) == Some(name))
}

/// The row of a name. Runs at compile time, and fails for an unknown name.
const fn row_of(name: &str) -> u16 {
    let (name, mut slot) = (name.as_bytes(), hash(name));
    loop {
        let row = ROWS_OF_NAMES[slot];
        assert!(row != EMPTY, "not the name of a syscall");
        let (known, mut at) = (SYSCALLS[row as usize].0.as_bytes(), 0);
        while at < known.len() && at < name.len() && known[at] == name[at] {
            at += 1;
        }
        if at == known.len() && at == name.len() {
            return row;
        }
        slot = (slot + 1) % NAME_SLOTS;
    }
}

/// The row of the syscall that exists exactly where multiplexers do.
const SOCKETCALL: u16 = row_of("socketcall");

/// For each row, the entry of [`MULTIPLEXED`] with its name.
static SUB_CALLS: [u16; COUNT] = {
    let (mut entries, mut entry) = ([EMPTY; COUNT], 0);
    while entry < MULTIPLEXED.len() {
        entries[row_of(MULTIPLEXED[entry].1) as usize] = entry as u16;
        entry += 1;
    }
    entries
};

/// A syscall with a name of [`known_names`]. Its numbers are found without comparing names again.
///
/// The order is that of the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KnownSyscall(u16);

impl KnownSyscall {
    /// The number of names in [`known_names`].
    pub const COUNT: usize = COUNT;

    /// The index of its name in [`known_names`].
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// The syscall with this name.
    pub fn named(name: &str) -> Option<KnownSyscall> {
        Some(KnownSyscall(u16::try_from(row_of_name(name)?).ok()?))
    }

    /// The name.
    pub fn name(self) -> &'static str {
        name_of_row(self.0).unwrap_or_default()
    }

    /// The same as [`SyscallTable::number`](super::SyscallTable::number).
    pub fn number(self, arch: Arch) -> Option<u32> {
        let relative = self.column(column(arch)).or_else(|| {
            let mut aliases = ALIASES.iter().filter(|(at, ..)| *at == column(arch));
            let (_, _, first) = aliases.find(|(_, second, _)| *second == self.name())?;
            KnownSyscall::named(first)?.column(column(arch))
        })?;
        Some(arch.first_number() + relative)
    }

    fn column(self, column: usize) -> Option<u32> {
        NUMBERS.get(usize::from(self.0))?.get(column).copied().filter(|number| *number != __)
    }

    /// The same as [`SyscallTable::multiplexed`](super::SyscallTable::multiplexed).
    pub fn multiplexed(self, arch: Arch) -> Option<(&'static str, u32)> {
        let entry = SUB_CALLS.get(usize::from(self.0)).filter(|entry| **entry != EMPTY)?;
        let (multiplexer, _, number) = MULTIPLEXED.get(usize::from(*entry))?;
        has_multiplexers(arch).then_some((*multiplexer, *number))
    }
}

pub(super) fn name_of_row(row: u16) -> Option<&'static str> {
    of_row(NAMES, &NAME_STARTS, row.into())
}

/// Facts about the syscall with this name, on any architecture.
pub fn facts(name: &str) -> Option<SyscallFacts> {
    let row = row_of_name(name)?;
    SyscallFacts::read(of_row(NAMES, &NAME_STARTS, row)?, of_row(FACTS, &FACT_STARTS, row)?)
}

/// Whether this is the name of a syscall: one of [`known_names`], or one of other architectures than
/// those of [`Arch`] or of old kernels. The latter have neither numbers nor facts; they are accepted
/// because portable filters name them.
pub fn is_known_name(name: &str) -> bool {
    row_of_name(name).is_some() || ELSEWHERE.binary_search(&name).is_ok()
}

/// The name in [`known_names`] that equals a text.
pub fn known_name(name: &str) -> Option<&'static str> {
    KnownSyscall::named(name).map(KnownSyscall::name)
}

/// The name in a constant of its number: `__NR_read` (`asm/unistd.h`), `SYS_read` (syscall(2)).
pub fn name_in_constant(text: &str) -> Option<&str> {
    text.strip_prefix("__NR_").or_else(|| text.strip_prefix("SYS_"))
}

/// The names of all syscalls of all architectures of [`Arch`], sorted.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    (0..COUNT).filter_map(|row| of_row(NAMES, &NAME_STARTS, row))
}

/// The most similar name of [`known_names`], if there is one: for "did you mean …?".
pub fn nearest_name(word: &str) -> Option<&'static str> {
    nearest(word, known_names())
}

/// The column of the table; the generator (`COLUMNS` in `xtask/checks/src/syscalls/headers.rs`) has
/// the same order.
pub(super) const fn column(arch: Arch) -> usize {
    match arch {
        Arch::X86_64 => 0,
        Arch::X86 => 1,
        Arch::X32 => 2,
        Arch::Aarch64 => 3,
        Arch::Arm => 4,
        Arch::Riscv64 => 5,
        Arch::S390x => 6,
        Arch::S390 => 7,
        Arch::Ppc64le | Arch::Ppc64 => 8,
        Arch::Ppc => 9,
        Arch::Loongarch64 => 10,
        Arch::Mips | Arch::Mipsel => 11,
        Arch::Mips64 | Arch::Mipsel64 => 12,
        Arch::Mips64n32 | Arch::Mipsel64n32 => 13,
        Arch::M68k => 14,
        Arch::Parisc => 15,
        Arch::Parisc64 => 16,
        Arch::Sh | Arch::Sheb => 17,
        // A test checks that there is none.
        _ => COLUMNS,
    }
}

/// Whether an architecture has `socketcall` and `ipc`.
pub(super) fn has_multiplexers(arch: Arch) -> bool {
    KnownSyscall(SOCKETCALL).column(column(arch)).is_some()
}

/// The syscalls of an architecture in the slots from `start` to before `end`: number as a filter sees it, and row.
pub(super) fn rows(arch: Arch, start: usize, end: usize) -> impl Iterator<Item = (u32, u16)> {
    let rows = ROWS.get(column(arch)).and_then(|rows| rows.get(start..end));
    let first = arch.first_number();
    let used = rows.unwrap_or_default().iter().enumerate().filter(|(_, row)| **row != EMPTY);
    used.map(move |(at, row)| (first + number_of_slot((start + at) as u32), *row))
}

#[cfg(test)]
mod tests;
