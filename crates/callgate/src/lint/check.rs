//! The checks: identifier, level, and what each is about.

use std::fmt;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Advice, or a property that may be intended.
    Note,
    /// The filter probably does not do what its author wants.
    Warning,
    /// A program can evade a rule of the filter.
    Error,
}

impl Level {
    /// All levels, the least serious first.
    pub const ALL: [Level; 3] = [Level::Note, Level::Warning, Level::Error];

    /// The name: `note`, `warning`, `error`.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The checks, the most serious first: the identifier and the name in code, the level, what is found, and why it matters.
macro_rules! checks {
    ($($id:literal $name:ident $level:ident $title:literal $about:literal)*) => {
        /// A property that [`lint`](super::lint) looks for.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Check {
            $(
                #[doc = concat!("`", $id, "`")]
                $name,
            )*
        }

        impl Check {
            /// All checks, the most serious first.
            pub const ALL: &'static [Check] = &[$(Check::$name),*];

            const fn facts(self) -> Facts {
                match self {
                    $(Check::$name => Facts { id: $id, level: Level::$level, title: $title, about: $about },)*
                }
            }
        }
    };
}

/// What is known about a check.
struct Facts {
    id: &'static str,
    level: Level,
    title: &'static str,
    about: &'static str,
}

checks! {
    "high-bits" HighBits Error "The filter compares 64 bits of an argument of 32 bits"
        "The kernel reads only the low 32 bits of the argument. A program sets a bit of the high half, and the kernel \
         executes the syscall, which the filter would deny if the high half were 0."
    "arch-not-checked" ArchNotChecked Error "Another architecture of the same machine is not restricted"
        "A 64-bit kernel also executes 32-bit syscalls, whose numbers mean something else. A program makes the denied \
         syscall through the other architecture."
    "x32-not-denied" X32NotDenied Error "The x32 ABI is not restricted"
        "x32 has the arch token of x86-64 and numbers from 0x40000000. Where the kernel supports x32, a program makes \
         the denied syscall with the x32 number."
    "low-half" LowHalf Error "The filter compares only the low half of an argument of 64 bits"
        "The kernel reads all 64 bits. A program sets a bit of the high half, and the kernel sees a value that \
         the filter does not list."
    "other-abi" OtherAbi Warning "An ABI allows more than another ABI of the same machine"
        "A program that may make syscalls of both ABIs makes the denied syscall through the one that allows it."
    "multiplexer" Multiplexer Warning "A multiplexer permits what the direct syscall denies"
        "`socketcall` and `ipc` perform many syscalls, and `socketcall` has their arguments in memory, where a filter \
         cannot read them."
    "same-effect" SameEffect Warning "A denied syscall has an allowed equivalent"
        "Another syscall has the same effect and is allowed, so the rule prevents nothing."
    "io-uring" IoUring Warning "io_uring performs operations that the filter denies as syscalls"
        "The kernel does not run seccomp filters for the operations of a ring."
    "powerful-call" PowerfulCall Warning "An allowed syscall can undo the filter's restrictions"
        "The syscall controls other processes or the kernel itself, as far as the capabilities of the process permit it."
    "never-matches" NeverMatches Warning "A rule never matches"
        "No value of the arguments meets its conditions."
    "overruled" Overruled Warning "A rule never decides"
        "Wherever the rule applies, another one takes precedence."
    "condition-without-effect" ConditionWithoutEffect Warning "The condition of a rule has no effect"
        "Other rules for the syscall, with the same verdict, apply whenever this one does."
    "or-conditions" OrConditions Warning "Several conditions on one argument are alternatives"
        "runc and crun make a rule of each condition if an entry has several for one argument, so one condition is enough."
    "missing-sibling" MissingSibling Warning "The profile names a syscall that the architecture does not have, and lacks its sibling"
        "The C library uses the sibling on this architecture. If the rule allows, the program fails; if it denies, the program can \
         do it with the sibling."
    "errno-not-enosys" ErrnoNotEnosys Warning "A newer syscall fails with an error that prevents the fallback"
        "The C library falls back to the older, allowed syscall only if the newer one fails with ENOSYS."
    "needed-call" NeededCall Warning "A syscall that every program needs is denied"
        "The kernel or the C library makes it without the program asking for it."
    "cannot-start" CannotStart Warning "No program, or no dynamically linked one, can start under the filter"
        "The filter is in force before the program starts: the container runtime and the dynamic loader make syscalls \
         that the program itself may not need."
    "sign-extension" SignExtension Warning "The filter distinguishes two forms of one negative number"
        "The kernel reads 32 bits, for example of a file descriptor. A negative number has all high bits 0 or all 1, \
         depending on the compiler."
    "pointer-value" PointerValue Warning "The filter compares a pointer with a value"
        "A filter cannot read memory, and the program chooses the address."
    "allows-all" AllowsAll Warning "The filter denies nothing"
        "Every syscall is permitted, perhaps with a log message."
    "profile" Profile Warning "The reader warns about the profile"
        "The text is valid, but perhaps not what was intended."
    "duplicate" Duplicate Note "A rule repeats another one"
        "Without it, the filter is the same."
    "equals-default" EqualsDefault Note "A rule has the default action"
        "runc and libseccomp reject or ignore such rules, even where they look like exceptions from other rules."
    "uneven-alternatives" UnevenAlternatives Note "Alternatives for a syscall test different arguments"
        "An argument that one alternative restricts is free in another one."
    "capability" Capability Note "A rule depends on a capability with which the syscall still fails"
        "The kernel requires another capability for the syscall."
    "unknown-numbers" UnknownNumbers Note "Syscalls of newer kernels do not fail with ENOSYS"
        "Programs that use a newer syscall expect ENOSYS where it does not exist; an allowed one was not considered by the author."
    "notify" Notify Note "A listener decides about syscalls"
        "If the listener continues a syscall with SECCOMP_USER_NOTIF_FLAG_CONTINUE after it has read its memory, another thread can \
         change this memory in between (seccomp_unotify(2))."
    "not-cached" NotCached Note "The kernel cannot cache that a syscall is allowed"
        "Since Linux 5.11 the kernel skips the filter for syscalls that it recognizes as always allowed."
    "slow-program" SlowProgram Note "A shorter or faster program has the same meaning"
        "Optimizing the program writes it, with a proof."
    "unmerged-stack" UnmergedStack Note "Several filters could be one"
        "The kernel runs all of them for each syscall; merging writes one program, with a proof."
    "long-list" LongList Note "The other form of a list is much shorter"
        "A list of what is denied may be shorter than one of what is allowed, or the reverse. In libseccomp's programs, each entry is a \
         comparison."
    "unused-allow" UnusedAllow Note "A comment silences nothing"
        "This line no longer has a finding."
}

impl Check {
    /// The identifier, which does not change: `high-bits`.
    pub const fn id(self) -> &'static str {
        self.facts().id
    }

    /// How serious a finding of this check is.
    pub const fn level(self) -> Level {
        self.facts().level
    }

    /// What it finds, as a sentence without a full stop.
    pub const fn title(self) -> &'static str {
        self.facts().title
    }

    /// Why this matters.
    pub const fn about(self) -> &'static str {
        self.facts().about
    }

    /// The check with this identifier.
    pub(crate) fn from_id(id: &str) -> Option<Check> {
        Check::ALL.iter().copied().find(|check| check.id() == id)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_unique_and_sorted_by_level() {
        for check in Check::ALL {
            assert_eq!(Check::from_id(check.id()), Some(*check));
            let is_id = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(check.id().chars().all(is_id), "{check}");
            assert!(!check.title().ends_with('.') && check.about().ends_with('.'), "{check}");
        }
        assert!(Check::ALL.windows(2).all(|pair| pair[0].level() >= pair[1].level()));
        let last = Check::ALL.iter().max().copied();
        assert_eq!(last.map(|check| check as usize + 1), Some(Check::ALL.len()));
    }
}
