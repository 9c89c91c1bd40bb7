//! The attributes of a context (`seccomp_attr_set(3)`).

use callgate::Verdict;
use callgate_codegen::Aim;

/// The constants `SCMP_FLTATR_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    DefaultAction,
    BadArchAction,
    NoNewPrivs,
    ThreadSync,
    SkipNumber,
    Log,
    SpeculativeStoreBypass,
    Optimize,
    RawErrors,
    WaitKillable,
}

impl Attribute {
    /// The attribute of a constant.
    pub(crate) fn of(constant: u32) -> Option<Attribute> {
        Some(match constant {
            1 => Attribute::DefaultAction,
            2 => Attribute::BadArchAction,
            3 => Attribute::NoNewPrivs,
            4 => Attribute::ThreadSync,
            5 => Attribute::SkipNumber,
            6 => Attribute::Log,
            7 => Attribute::SpeculativeStoreBypass,
            8 => Attribute::Optimize,
            9 => Attribute::RawErrors,
            10 => Attribute::WaitKillable,
            _ => return None,
        })
    }
}

/// The values of all attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) default: Verdict,
    /// The verdict for syscalls of an architecture without filter.
    pub(crate) bad_arch: Verdict,
    /// Whether `seccomp_load` sets `no_new_privs`.
    pub(crate) no_new_privs: bool,
    /// Whether all threads get the filter.
    pub(crate) thread_sync: bool,
    /// Whether rules for the syscall -1 are permitted.
    pub(crate) skip_number: bool,
    /// Whether the kernel logs verdicts other than ALLOW.
    pub(crate) log: bool,
    /// Whether the mitigation of speculative store bypass stays off.
    pub(crate) speculative_store_bypass: bool,
    /// 1 for a good program in a short time, 2 for a search for the best one. In libseccomp these are a list by priority
    /// and a search tree; `seccomp_export_pfc` prints the rules in the order of the one or the other.
    pub(crate) optimize: u32,
    /// Whether errors of the kernel are returned instead of `ECANCELED`.
    pub(crate) raw_errors: bool,
    /// Whether the kernel lets a notified syscall wait only for fatal signals.
    pub(crate) wait_killable: bool,
}

impl Attributes {
    /// The values in a new context.
    pub(crate) fn new(default: Verdict) -> Attributes {
        Attributes {
            default,
            bad_arch: Verdict::KILL_THREAD,
            no_new_privs: true,
            thread_sync: false,
            skip_number: false,
            log: false,
            speculative_store_bypass: false,
            optimize: 1,
            raw_errors: false,
            wait_killable: false,
        }
    }

    /// What the compiler aims at.
    pub(super) fn aim(&self) -> Aim {
        if self.optimize == 1 { Aim::Quick } else { Aim::Speed }
    }

    /// The value of an attribute.
    pub(crate) fn get(&self, attribute: Attribute) -> u32 {
        match attribute {
            Attribute::DefaultAction => self.default.0,
            Attribute::BadArchAction => self.bad_arch.0,
            Attribute::NoNewPrivs => self.no_new_privs.into(),
            Attribute::ThreadSync => self.thread_sync.into(),
            Attribute::SkipNumber => self.skip_number.into(),
            Attribute::Log => self.log.into(),
            Attribute::SpeculativeStoreBypass => self.speculative_store_bypass.into(),
            Attribute::Optimize => self.optimize,
            Attribute::RawErrors => self.raw_errors.into(),
            Attribute::WaitKillable => self.wait_killable.into(),
        }
    }
}
