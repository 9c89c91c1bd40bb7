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

/// A property that [`lint`](super::lint) looks for.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// `high-bits`
    HighBits,
    /// `arch-not-checked`
    ArchNotChecked,
    /// `x32-not-denied`
    X32NotDenied,
    /// `low-half`
    LowHalf,
    /// `other-abi`
    OtherAbi,
    /// `multiplexer`
    Multiplexer,
    /// `same-effect`
    SameEffect,
    /// `io-uring`
    IoUring,
    /// `powerful-call`
    PowerfulCall,
    /// `never-matches`
    NeverMatches,
    /// `overruled`
    Overruled,
    /// `condition-without-effect`
    ConditionWithoutEffect,
    /// `or-conditions`
    OrConditions,
    /// `missing-sibling`
    MissingSibling,
    /// `errno-not-enosys`
    ErrnoNotEnosys,
    /// `needed-call`
    NeededCall,
    /// `sign-extension`
    SignExtension,
    /// `pointer-value`
    PointerValue,
    /// `allows-all`
    AllowsAll,
    /// `profile`
    Profile,
    /// `duplicate`
    Duplicate,
    /// `equals-default`
    EqualsDefault,
    /// `uneven-alternatives`
    UnevenAlternatives,
    /// `capability`
    Capability,
    /// `unknown-numbers`
    UnknownNumbers,
    /// `notify`
    Notify,
    /// `not-cached`
    NotCached,
    /// `slow-program`
    SlowProgram,
    /// `unmerged-stack`
    UnmergedStack,
    /// `long-list`
    LongList,
    /// `unused-allow`
    UnusedAllow,
}

/// One row of the table below.
struct Facts {
    id: &'static str,
    level: Level,
    title: &'static str,
    about: &'static str,
}

impl Check {
    /// All checks, the most serious first.
    #[rustfmt::skip]
    pub const ALL: &'static [Check] = &[
        Check::HighBits, Check::ArchNotChecked, Check::X32NotDenied, Check::LowHalf, Check::OtherAbi,
        Check::Multiplexer, Check::SameEffect, Check::IoUring, Check::PowerfulCall, Check::NeverMatches,
        Check::Overruled, Check::ConditionWithoutEffect, Check::OrConditions, Check::MissingSibling,
        Check::ErrnoNotEnosys, Check::NeededCall, Check::SignExtension, Check::PointerValue, Check::AllowsAll,
        Check::Profile, Check::Duplicate, Check::EqualsDefault, Check::UnevenAlternatives, Check::Capability,
        Check::UnknownNumbers, Check::Notify, Check::NotCached, Check::SlowProgram, Check::UnmergedStack,
        Check::LongList, Check::UnusedAllow,
    ];

    #[rustfmt::skip]
    const fn facts(self) -> &'static Facts {
        use Level::{Error, Note, Warning};
        const fn row(id: &'static str, level: Level, title: &'static str, about: &'static str) -> Facts {
            Facts { id, level, title, about }
        }
        match self {
            Check::HighBits => const { &row("high-bits", Error, "The filter compares 64 bits of an argument of 32 bits",
                "The kernel reads only the low 32 bits of the argument. A program sets a bit of the high half, and the kernel \
                 executes the syscall, which the filter would deny if the high half were 0.") },
            Check::ArchNotChecked => const { &row("arch-not-checked", Error, "Another architecture of the same machine is not restricted",
                "A 64-bit kernel also executes 32-bit syscalls, whose numbers mean something else. A program makes the denied \
                 syscall through the other architecture.") },
            Check::X32NotDenied => const { &row("x32-not-denied", Error, "The x32 ABI is not restricted",
                "x32 has the arch token of x86-64 and numbers from 0x40000000. Where the kernel supports x32, a program makes \
                 the denied syscall with the x32 number.") },
            Check::LowHalf => const { &row("low-half", Error, "The filter compares only the low half of an argument of 64 bits",
                "The kernel reads all 64 bits. A program sets a bit of the high half, and the kernel sees a value that \
                 the filter does not list.") },
            Check::OtherAbi => const { &row("other-abi", Warning, "An ABI allows more than another ABI of the same machine",
                "A program that may make syscalls of both ABIs makes the denied syscall through the one that allows it.") },
            Check::Multiplexer => const { &row("multiplexer", Warning, "A multiplexer permits what the direct syscall denies",
                "`socketcall` and `ipc` perform many syscalls, and `socketcall` has their arguments in memory, where a filter \
                 cannot read them.") },
            Check::SameEffect => const { &row("same-effect", Warning, "A denied syscall has an allowed equivalent",
                "Another syscall has the same effect and is allowed, so the rule prevents nothing.") },
            Check::IoUring => const { &row("io-uring", Warning, "io_uring performs operations that the filter denies as syscalls",
                "The kernel does not run seccomp filters for the operations of a ring.") },
            Check::PowerfulCall => const { &row("powerful-call", Warning, "An allowed syscall can undo the filter's restrictions",
                "The syscall controls other processes or the kernel itself, as far as the capabilities of the process permit it.") },
            Check::NeverMatches => const { &row("never-matches", Warning, "A rule never matches",
                "No value of the arguments meets its conditions.") },
            Check::Overruled => const { &row("overruled", Warning, "A rule never decides",
                "Wherever the rule applies, another one takes precedence.") },
            Check::ConditionWithoutEffect => const { &row("condition-without-effect", Warning, "The condition of a rule has no effect",
                "Other rules for the syscall, with the same verdict, apply whenever this one does.") },
            Check::OrConditions => const { &row("or-conditions", Warning, "Several conditions on one argument are alternatives",
                "runc and crun make a rule of each condition if an entry has several for one argument, so one condition is enough.") },
            Check::MissingSibling => const { &row("missing-sibling", Warning, "The profile names a syscall that the architecture does not have, and lacks its sibling",
                "The C library uses the sibling on this architecture, so the program fails.") },
            Check::ErrnoNotEnosys => const { &row("errno-not-enosys", Warning, "A newer syscall fails with an error that prevents the fallback",
                "The C library falls back to the older, allowed syscall only if the newer one fails with ENOSYS.") },
            Check::NeededCall => const { &row("needed-call", Warning, "A syscall that every program needs is denied",
                "The kernel or the C library makes it without the program asking for it.") },
            Check::SignExtension => const { &row("sign-extension", Warning, "The filter distinguishes two forms of one negative number",
                "The kernel reads 32 bits, for example of a file descriptor. A negative number has all high bits 0 or all 1, \
                 depending on the compiler.") },
            Check::PointerValue => const { &row("pointer-value", Warning, "The filter compares a pointer with a value",
                "A filter cannot read memory, and the program chooses the address.") },
            Check::AllowsAll => const { &row("allows-all", Warning, "The filter denies nothing",
                "Every syscall is permitted, perhaps with a log message.") },
            Check::Profile => const { &row("profile", Warning, "The reader warns about the profile",
                "The text is valid, but perhaps not what was intended.") },
            Check::Duplicate => const { &row("duplicate", Note, "A rule repeats another one",
                "Without it, the filter is the same.") },
            Check::EqualsDefault => const { &row("equals-default", Note, "A rule has the default action",
                "runc and libseccomp reject or ignore such rules, even where they look like exceptions from other rules.") },
            Check::UnevenAlternatives => const { &row("uneven-alternatives", Note, "Alternatives for a syscall test different arguments",
                "An argument that one alternative restricts is free in another one.") },
            Check::Capability => const { &row("capability", Note, "A rule depends on a capability with which the syscall still fails",
                "The kernel requires another capability for the syscall.") },
            Check::UnknownNumbers => const { &row("unknown-numbers", Note, "Syscalls of newer kernels do not fail with ENOSYS",
                "Programs that use a newer syscall expect ENOSYS where it does not exist; an allowed one was not considered by the author.") },
            Check::Notify => const { &row("notify", Note, "A listener decides about syscalls",
                "If the listener continues a syscall with SECCOMP_USER_NOTIF_FLAG_CONTINUE after it has read its memory, another thread can \
                 change this memory in between (seccomp_unotify(2)).") },
            Check::NotCached => const { &row("not-cached", Note, "The kernel cannot cache that a syscall is allowed",
                "Since Linux 5.11 the kernel skips the filter for syscalls that it recognizes as always allowed.") },
            Check::SlowProgram => const { &row("slow-program", Note, "A shorter or faster program has the same meaning",
                "Optimizing the program writes it, with a proof.") },
            Check::UnmergedStack => const { &row("unmerged-stack", Note, "Several filters could be one",
                "The kernel runs all of them for each syscall; merging writes one program, with a proof.") },
            Check::LongList => const { &row("long-list", Note, "The other form of a list is much shorter",
                "A list of what is denied may be shorter than one of what is allowed, or the reverse. In libseccomp's programs, each entry is a \
                 comparison.") },
            Check::UnusedAllow => const { &row("unused-allow", Note, "A comment silences nothing",
                "This line no longer has a finding.") },
        }
    }

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
