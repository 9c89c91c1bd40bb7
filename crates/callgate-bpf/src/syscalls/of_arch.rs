//! The tables as methods of an architecture.

use callgate_core::Arch;

use super::argument::{self, Argument, ArgumentError};
use super::table::{self, KnownSyscall, ROWS, SLOTS, column, name_of_row, rows, slot, slot_from};

/// The syscalls of an [`Arch`]: numbers, names, and where their arguments are.
pub trait SyscallTable: Copy + Sized {
    /// The number of a syscall as a filter sees it: for x32 with the bit 0x4000_0000, for MIPS from 4000,
    /// 5000 and 6000 on. `None` if this architecture does not have the syscall.
    fn number(self, name: &str) -> Option<u32>;

    /// The name of a syscall by its number as a filter sees it. `None` if the number is not in use.
    ///
    /// If the headers have two names for a number, this is the one that they define with the
    /// number itself: `arm_sync_file_range`, not `sync_file_range2`, on arm.
    fn syscall_name(self, nr: u32) -> Option<&'static str>;

    /// All syscalls of this architecture, in the order of their numbers as a filter sees them.
    fn syscalls(self) -> impl Iterator<Item = (u32, &'static str)>;

    /// The numbers of [`SyscallTable::syscalls`]. The names stay untouched: they are far larger than the numbers.
    fn syscall_numbers(self) -> impl Iterator<Item = u32>;

    /// Those of [`SyscallTable::syscall_numbers`] from `first` to `last`.
    ///
    /// ```
    /// use callgate_bpf::SyscallTable;
    /// use callgate_core::Arch;
    ///
    /// assert!(Arch::X86_64.syscall_numbers_within(400, 425).eq([424, 425]));
    /// ```
    fn syscall_numbers_within(self, first: u32, last: u32) -> impl Iterator<Item = u32>;

    /// Whether it has `socketcall` and `ipc`.
    fn has_multiplexers(self) -> bool;

    /// The multiplexer for `name` on this architecture, `socketcall` or `ipc`, and the number of its
    /// sub-call. Many architectures have the syscall with a number of its own as well, see
    /// [`SyscallTable::number`].
    ///
    /// The sub-call is the multiplexer's first argument. That of `ipc` carries a version in its
    /// high half, so a filter compares its low 16 bits only. The arguments of the sub-call of
    /// `socketcall` are in memory, where no filter reads them.
    fn multiplexed(self, name: &str) -> Option<(&'static str, u32)>;

    /// The argument of a syscall by its name in the kernel's definition.
    ///
    /// ```
    /// use callgate_bpf::SyscallTable;
    /// use callgate_core::Arch;
    ///
    /// let count = Arch::X86_64.argument("write", "count")?;
    /// assert_eq!((count.index, count.bits), (2, Some(64)));
    /// assert_eq!(Arch::X86.argument("write", "count")?.bits, Some(32));
    /// assert_eq!(
    ///     Arch::X86_64.argument("write", "size").unwrap_err().to_string(),
    ///     r#"no argument named "size"; write(2) has fd, buf, count"#
    /// );
    /// # Ok::<(), callgate_bpf::syscalls::ArgumentError>(())
    /// ```
    ///
    /// # Errors
    /// When the syscall has no such argument, or its place on this architecture is not known.
    fn argument(self, syscall: &str, name: &str) -> Result<Argument, ArgumentError>;

    /// The argument of a syscall by its number, from 0.
    ///
    /// # Errors
    /// When the syscall has fewer arguments, or `index` is more than 5.
    fn argument_at(self, syscall: &str, index: u32) -> Result<Argument, ArgumentError>;
}

impl SyscallTable for Arch {
    fn number(self, name: &str) -> Option<u32> {
        KnownSyscall::named(name)?.number(self)
    }

    fn syscall_name(self, nr: u32) -> Option<&'static str> {
        let slot = slot(nr.checked_sub(self.first_number())?)?;
        name_of_row(*ROWS.get(column(self))?.get(slot)?)
    }

    fn syscalls(self) -> impl Iterator<Item = (u32, &'static str)> {
        rows(self, 0, SLOTS).filter_map(|(nr, row)| Some((nr, name_of_row(row)?)))
    }

    fn syscall_numbers(self) -> impl Iterator<Item = u32> {
        rows(self, 0, SLOTS).map(|(nr, _)| nr)
    }

    fn syscall_numbers_within(self, first: u32, last: u32) -> impl Iterator<Item = u32> {
        let lowest = self.first_number();
        let start = slot_from(first.saturating_sub(lowest));
        let after = last.checked_sub(lowest).map_or(Some(0), |last| last.checked_add(1));
        rows(self, start, after.map_or(SLOTS, slot_from)).map(|(nr, _)| nr)
    }

    fn has_multiplexers(self) -> bool {
        table::has_multiplexers(self)
    }

    fn multiplexed(self, name: &str) -> Option<(&'static str, u32)> {
        KnownSyscall::named(name)?.multiplexed(self)
    }

    fn argument(self, syscall: &str, name: &str) -> Result<Argument, ArgumentError> {
        argument::named(self, syscall, name)
    }

    fn argument_at(self, syscall: &str, index: u32) -> Result<Argument, ArgumentError> {
        argument::numbered(self, syscall, index)
    }
}
