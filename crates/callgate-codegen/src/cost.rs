//! Cost models of kernels, and the aim of the code generator.
//!
//! The unit of all prices is an executed instruction of a syscall for which the kernel runs the filter.
//! The models do not predict nanoseconds: they weight the syscalls, and the program with the lower expected cost
//! (the weighted mean number of executed instructions) is the better one. Among programs of the same cost and size, the
//! [costs of the kernel's own instructions](crate::native) decide.
//!
//! # Where the constants come from
//!
//! Two kinds of measurement. *Guest*: Debian's kernels (5.10.0, 6.1.0 and 6.12 of the
//! `linux-image-*-cloud-amd64` packages) in `qemu-system-x86_64 -accel tcg,thread=single -icount
//! shift=0,sleep=off`, where a nanosecond of the guest's CLOCK_MONOTONIC is one guest instruction and
//! repeated measurements are identical. *Machine*: a 2-core Zen 4 virtual machine with Linux 6.18, a pinned
//! loop of a trivial syscall, the minimum of many interleaved rounds (9 processes × 25 batches × 2,000
//! syscalls; identical filters differ by at most 0.3 ns). The filters are lists of N `jeq` that do not
//! match; *smallest uncached* loads one argument and allows.
//!
//! | guest instructions per syscall | no filter | constant allow | smallest uncached | N = 100 | N = 1,000 |
//! |---|---|---|---|---|---|
//! | 5.10, JIT off | 240 | 483 | 501 | 1,920 | 14,523 |
//! | 5.10 | 240 | 392 | 393 | 595 | 2,395 |
//! | 6.1 | 316 | 462 | 553 | 755 | 2,555 |
//! | 6.12 | 305 | 461 | 554 | 756 | 2,556 |
//!
//! - [`Model::Uncached`], interpreted: (14,523 − 1,920) / 900 = 14 guest instructions for each `jeq`
//!   (`___bpf_prog_run` in `kernel/bpf/core.c`), whatever it compares and whether it is taken.
//! - [`Model::Uncached`], native: (2,395 − 595) / 900 = 2 for each `jeq` that is not taken (`cmp` and a conditional
//!   jump, `do_jit` in `arch/x86/net/bpf_jit_comp.c`). On the machine, in nanoseconds: not taken 0.134,
//!   taken 0.36, both targets elsewhere 0.46, `ja` 0.35, a load 0.09, `and` 0.25. So the more frequent successor of a branch
//!   should be the fall-through; the [layout](super) does this for every model, because it is free on the others. The
//!   [table](crate::native) has the numbers of native instructions for each form.
//! - [`Model::Cached`]: since Linux 5.11 `seccomp_cache_prepare` (`kernel/seccomp.c`) determines at
//!   installation which numbers are constant allow, and `seccomp_cache_check_allow` answers these
//!   without running the filter: on the machine 130.5 ns per syscall for 1 to 4,018 instructions and 1 to 32
//!   filters alike, against 147.2 ns for the smallest uncached filter and 104.0 ns for none. An
//!   installation runs the kernel's emulator once for each number: 2.2 ms for a list of 1,000 numbers.
//!
//! # What is not modelled
//!
//! In search trees all instructions have the same price, so one model covers kernels that interpret filters and kernels
//! that compile them: both would rank programs alike. What an instruction costs beyond that depends on its neighbours and
//! is decided by the layout. Caches and branch prediction are represented only by the small price of program size and by
//! the price of a [taken jump](crate::native::TAKEN).

use callgate_bpf::syscalls::KernelVersion;

/// A cost model of the kernel, which without weights decides the [prior](super). The [module](self) documents the measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Model {
    /// Linux before 5.11, or an architecture whose kernel has no verdict cache: every syscall pays for each
    /// executed instruction, whether the kernel interprets filters or compiles them to native code.
    Uncached,
    /// Linux 5.11 and later: a constant-allow syscall pays almost nothing, any other pays as without the cache.
    #[default]
    Cached,
}

impl Model {
    /// All models.
    pub const ALL: &'static [Model] = &[Model::Uncached, Model::Cached];

    /// That of a kernel of this version, on an architecture that has the cache.
    pub fn of_kernel(kernel: KernelVersion) -> Model {
        match kernel >= (KernelVersion { major: 5, minor: 11 }) {
            true => Model::Cached,
            false => Model::Uncached,
        }
    }

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Model::Uncached => "uncached",
            Model::Cached => "cached",
        }
    }
}

/// The primary objective: expected cost, size, or the time of the compilation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Aim {
    /// Expected cost, then size.
    #[default]
    Speed,
    /// Size, then expected cost.
    Size,
    /// A short compilation: a good program that is found without a search.
    Quick,
}

impl Aim {
    /// All aims.
    pub const ALL: &'static [Aim] = &[Aim::Speed, Aim::Size, Aim::Quick];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Aim::Speed => "speed",
            Aim::Size => "size",
            Aim::Quick => "quick",
        }
    }

    /// The price of one more instruction in the program, in executed instructions of the average syscall.
    ///
    /// For speed it is not zero: code that is never executed still fills cache lines. With 1 MiB of
    /// other code and data touched between syscalls, the machine took 441 − 290 ns more for 300 `jeq` than
    /// for the smallest filter, 0.5 ns each; the same code takes 0.134 ns with warm caches. So a shorter program is
    /// better even if the removed instructions are not on the executed path. How often a filter runs with cold
    /// caches depends on the workload. At this price, a default container profile trades 0.03 executed
    /// instructions for a program that is two instructions shorter.
    ///
    /// For size, the price exceeds the mean number of executed instructions of any real filter.
    pub const fn size_price(self) -> f64 {
        match self {
            Aim::Speed | Aim::Quick => 0.02,
            Aim::Size => 100.0,
        }
    }
}
