//! What a filter costs on a kernel, and what the generator aims at.
//!
//! The unit of all prices is the executed instruction of a call that the kernel runs the filter for.
//! The models do not predict nanoseconds: they say which calls pay, and the program with the lower
//! expected number of executed instructions, weighed so, is the better one.
//!
//! # Where the constants come from
//!
//! Two kinds of measurement. *Guest*: Debian's kernels (5.10.0, 6.1.0 and 6.12 of the
//! `linux-image-*-cloud-amd64` packages) in `qemu-system-x86_64 -accel tcg,thread=single -icount
//! shift=0,sleep=off`, where a nanosecond of the guest's CLOCK_MONOTONIC is one guest instruction and
//! runs agree to the last digit. *Machine*: a 2-core Zen 4 virtual machine with Linux 6.18, a pinned
//! loop of a trivial call, the minimum of many interleaved rounds (9 processes × 25 batches × 2,000
//! calls; identical filters differ by 0.3 ns at most). The filters are lists of N `jeq` that do not
//! match; *smallest uncached* loads one argument and allows.
//!
//! | guest instructions per call | no filter | constant allow | smallest uncached | N = 100 | N = 1,000 |
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
//!   taken 0.36, both targets elsewhere 0.46, `ja` 0.35, a load 0.09, `and` 0.25. So the side of a branch
//!   that is more frequent should stand right behind it; the [layout](super) does this for every model,
//!   because it costs nothing on the others.
//! - [`Model::Cached`]: since Linux 5.11 `seccomp_cache_prepare` (`kernel/seccomp.c`) finds out at
//!   installation which numbers are constant allow, and `seccomp_cache_check_allow` answers these
//!   without running the filter: on the machine 130.5 ns per call for 1 to 4,018 instructions and 1 to 32
//!   filters alike, against 147.2 ns for the smallest uncached filter and 104.0 ns for none. An
//!   installation runs the kernel's emulator once for each number: 2.2 ms for a list of 1,000 numbers.
//!
//! # What is not modelled
//!
//! An instruction costs the same whatever it is, so one model stands for kernels that interpret filters
//! and for those that compile them: it ranks programs alike for both. Caches and branch prediction have no price but the
//! small one of a longer program.

use super::weights::WeightedCall;

/// A model of what the kernel charges for a filter. The [module](self) says where the figures come
/// from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Model {
    /// Linux before 5.11, or an architecture whose kernel has no verdict cache: every call pays for each
    /// executed instruction, whether the kernel interprets filters or compiles them to native code.
    Uncached,
    /// Linux 5.11 and later: a call that is constant allow pays next to nothing, any other pays as
    /// without the cache.
    #[default]
    Cached,
}

impl Model {
    /// All models.
    pub const ALL: &'static [Model] = &[Model::Uncached, Model::Cached];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Model::Uncached => "uncached",
            Model::Cached => "cached",
        }
    }

    /// The weight of a constant-allow call, relative to any other call that is as frequent.
    ///
    /// With the verdict cache an executed instruction of such a call costs nothing at run time. What
    /// is left is the installation, which executes it once, and kernels without a cache that the same
    /// program may be loaded on. Neither can be expressed per call, so 1/4 is a choice, not a
    /// measurement. Under the published counts of gVisor's process with Postgres the calls that pay
    /// execute 9.23 instructions then and all calls together 9.20; with 1/16 it is 9.22 and 9.48, so
    /// less would cost kernels without a cache much and gain next to nothing.
    pub const fn constant_allow_weight(self) -> f64 {
        match self {
            Model::Uncached => 1.0,
            Model::Cached => 1.0 / 4.0,
        }
    }

    /// How much a call weighs in the expected cost.
    pub const fn weigh(self, call: &WeightedCall) -> f64 {
        call.weight * if call.always_allowed { self.constant_allow_weight() } else { 1.0 }
    }
}

/// What comes first: expected cost, or size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Aim {
    /// Expected cost, then size.
    #[default]
    Speed,
    /// Size, then expected cost.
    Size,
}

impl Aim {
    /// Both.
    pub const ALL: &'static [Aim] = &[Aim::Speed, Aim::Size];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Aim::Speed => "speed",
            Aim::Size => "size",
        }
    }

    /// What one instruction more in the program is worth, in executed instructions of the average
    /// call.
    ///
    /// For speed it is not zero: code that is never executed still fills cache lines. With 1 MiB of
    /// other code and data touched between calls, the machine took 441 − 290 ns more for 300 `jeq` than
    /// for the smallest filter, 0.5 ns for each, where the same code takes 0.134 ns when it is warm; so
    /// a program is worth being short even where the instructions are not on the way. How often a
    /// filter runs cold is up to the workload. At this price a default container profile gives up
    /// 0.03 executed instructions for two fewer in the program.
    ///
    /// For size, no weighted mean of executed instructions reaches the price of one more in the program
    /// in any real filter.
    pub const fn size_price(self) -> f64 {
        match self {
            Aim::Speed => 0.02,
            Aim::Size => 100.0,
        }
    }
}
