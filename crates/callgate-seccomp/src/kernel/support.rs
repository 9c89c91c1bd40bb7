//! Which actions and flags of seccomp(2) the kernel supports. The first question of each kind asks the kernel, because
//! later a filter may forbid that; `seccomp_api_set(3)` replaces the answers.
//!
//! The questions are calls that fail in every case, but with another error if the flag is known: `seccomp_set_mode_filter`
//! in `kernel/seccomp.c` checks the flags before it reads the program. All flags are asked for together first: a kernel with
//! the latest of them, of Linux 5.19, also has the actions of Linux 4.14 and notifications, of Linux 5.0. They are not asked
//! for, even if a filter denies other questions than that about flags; libseccomp would say then that they are not supported.
//!
//! Source: seccomp(2).

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI8, AtomicU32, Ordering};

use callgate::Verdict;
use libc::{c_int, c_long, c_uint};

/// Flags of `SECCOMP_SET_MODE_FILTER`, with the numbers of their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    ThreadSync = 0,
    Log = 1,
    SpeculativeStoreBypass = 2,
    NewListener = 3,
    /// A thread that cannot get the filter is reported by `ESRCH` instead of its identity.
    ThreadSyncError = 4,
    WaitKillable = 5,
}

impl Flag {
    /// The bit (`include/uapi/linux/seccomp.h`).
    pub(super) const fn bit(self) -> c_uint {
        1 << self as c_uint
    }
}

/// The number of flags.
const FLAGS: usize = 6;

/// Something that is supported or not.
#[derive(Clone, Copy, Debug)]
enum Feature {
    Syscall,
    KillProcess,
    LogAction,
    Notify,
    Flag(Flag),
}

impl Feature {
    const COUNT: usize = 4 + FLAGS;

    const ALL: [Feature; Feature::COUNT] = [
        Feature::Syscall,
        Feature::KillProcess,
        Feature::LogAction,
        Feature::Notify,
        Feature::Flag(Flag::ThreadSync),
        Feature::Flag(Flag::Log),
        Feature::Flag(Flag::SpeculativeStoreBypass),
        Feature::Flag(Flag::NewListener),
        Feature::Flag(Flag::ThreadSyncError),
        Feature::Flag(Flag::WaitKillable),
    ];

    const fn index(self) -> usize {
        match self {
            Feature::Syscall => 0,
            Feature::KillProcess => 1,
            Feature::LogAction => 2,
            Feature::Notify => 3,
            Feature::Flag(flag) => 4 + flag as usize,
        }
    }

    /// The API level from which on it is supported (`seccomp_api_get(3)`).
    const fn level(self) -> u32 {
        match self {
            Feature::Syscall | Feature::Flag(Flag::ThreadSync) => 2,
            Feature::KillProcess | Feature::LogAction | Feature::Flag(Flag::Log) => 3,
            Feature::Flag(Flag::SpeculativeStoreBypass) => 4,
            Feature::Notify | Feature::Flag(Flag::NewListener) => 5,
            Feature::Flag(Flag::ThreadSyncError) => 6,
            Feature::Flag(Flag::WaitKillable) => 7,
        }
    }
}

/// The highest API level.
pub(crate) const MAX_LEVEL: u32 = 7;

const UNKNOWN: i8 = -1;

/// What is known about the kernel.
#[derive(Debug)]
pub(crate) struct Support {
    known: [AtomicI8; Feature::COUNT],
    /// 0 while unknown.
    level: AtomicU32,
}

/// The answers of the running kernel.
pub(crate) static SUPPORT: Support = Support::new();

impl Support {
    const fn new() -> Support {
        Support {
            known: [const { AtomicI8::new(UNKNOWN) }; Feature::COUNT],
            level: AtomicU32::new(0),
        }
    }

    /// Forgets all answers.
    pub(crate) fn reset(&self) {
        self.level.store(0, Ordering::Relaxed);
        for known in &self.known {
            known.store(UNKNOWN, Ordering::Relaxed);
        }
    }

    /// The API level: the highest level of which, and of all below it, everything is supported.
    pub(crate) fn level(&self) -> u32 {
        let known = self.level.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        let is_new = self.known.iter().all(|known| known.load(Ordering::Relaxed) == UNKNOWN);
        if is_new && accepts_all_flags() {
            self.set_level(MAX_LEVEL);
            return MAX_LEVEL;
        }
        let has_all = |level: &u32| {
            Feature::ALL.iter().filter(|feature| feature.level() == *level).all(|f| self.has(*f))
        };
        let level = (2..=MAX_LEVEL).take_while(has_all).last().unwrap_or(1);
        self.level.store(level, Ordering::Relaxed);
        level
    }

    /// Sets the API level, and with it all answers.
    pub(crate) fn set_level(&self, level: u32) {
        for feature in Feature::ALL {
            let is_supported = i8::from(feature.level() <= level);
            if let Some(known) = self.known.get(feature.index()) {
                known.store(is_supported, Ordering::Relaxed);
            }
        }
        self.level.store(level, Ordering::Relaxed);
    }

    /// Whether seccomp(2) is there.
    pub(crate) fn has_syscall(&self) -> bool {
        self.has(Feature::Syscall)
    }

    /// Whether a flag is supported.
    pub(crate) fn has_flag(&self, flag: Flag) -> bool {
        self.has(Feature::Flag(flag))
    }

    /// Whether notifications are supported.
    pub(crate) fn has_notifications(&self) -> bool {
        self.has(Feature::Notify)
    }

    /// Whether a flag is known to be supported, without asking the kernel.
    pub(crate) fn is_known(&self, flag: Flag) -> bool {
        self.answer(Feature::Flag(flag)) == 1
    }

    /// Whether notifications are known to be supported, without asking the kernel.
    pub(crate) fn knows_notifications(&self) -> bool {
        self.answer(Feature::Notify) == 1
    }

    /// Whether seccomp(2) is known to be there, without asking the kernel.
    pub(crate) fn knows_syscall(&self) -> bool {
        self.answer(Feature::Syscall) == 1
    }

    /// Whether a verdict may be the result of a filter. ERRNO takes numbers below 4095, the largest error number.
    pub(crate) fn has_action(&self, verdict: Verdict) -> bool {
        const MAX_ERRNO: u16 = 4095;
        let data = verdict.data();
        if verdict == Verdict::KILL_PROCESS {
            self.has(Feature::KillProcess)
        } else if verdict == Verdict::LOG {
            self.has(Feature::LogAction)
        } else if verdict == Verdict::user_notif(0) {
            self.has(Feature::Notify)
        } else {
            [Verdict::KILL_THREAD, Verdict::ALLOW].contains(&verdict)
                || verdict == Verdict::trap(data)
                || verdict == Verdict::errno(data) && data < MAX_ERRNO
                || verdict == Verdict::trace(data)
        }
    }

    fn answer(&self, feature: Feature) -> i8 {
        self.known.get(feature.index()).map_or(0, |known| known.load(Ordering::Relaxed))
    }

    fn has(&self, feature: Feature) -> bool {
        match self.answer(feature) {
            UNKNOWN => {
                let is_supported = self.ask(feature);
                if let Some(known) = self.known.get(feature.index()) {
                    known.store(i8::from(is_supported), Ordering::Relaxed);
                }
                is_supported
            }
            answer => answer == 1,
        }
    }

    /// Asks the kernel.
    fn ask(&self, feature: Feature) -> bool {
        let has_action = |mut action: u32| {
            let action = (&raw mut action).cast();
            // SAFETY: the operation reads a u32.
            unsafe { seccomp(GET_ACTION_AVAIL, 0, action) }.is_ok()
        };
        match feature {
            // The mode takes no flags.
            Feature::Syscall => {
                // SAFETY: the operation reads nothing.
                let result = unsafe { seccomp(SET_MODE_STRICT, 1, null_mut()) };
                result == Err(libc::EINVAL)
            }
            _ if !self.has(Feature::Syscall) => false,
            Feature::KillProcess => has_action(Verdict::KILL_PROCESS.0),
            Feature::LogAction => has_action(Verdict::LOG.0),
            Feature::Notify => {
                let mut sizes = [0_u16; 3];
                // SAFETY: the operation writes a `struct seccomp_notif_sizes`, three u16.
                unsafe { seccomp(GET_NOTIF_SIZES, 0, sizes.as_mut_ptr().cast()) }.is_ok()
            }
            Feature::Flag(flag) => {
                let needed = match flag {
                    Flag::WaitKillable if !self.has_flag(Flag::NewListener) => return false,
                    Flag::WaitKillable => Flag::NewListener.bit(),
                    _ => 0,
                };
                accepts(flag.bit() | needed)
            }
        }
    }
}

/// Whether the kernel accepts all flags together.
fn accepts_all_flags() -> bool {
    // A listener and TSYNC need TSYNC_ESRCH, WAIT_KILLABLE_RECV needs a listener.
    let flag = |feature: &Feature| if let Feature::Flag(flag) = feature { flag.bit() } else { 0 };
    accepts(Feature::ALL.iter().fold(0, |flags, feature| flags | flag(feature)))
}

/// Whether the kernel accepts these flags together.
fn accepts(flags: c_uint) -> bool {
    // SAFETY: the kernel refuses a null pointer.
    unsafe { seccomp(SET_MODE_FILTER, flags, null_mut()) == Err(libc::EFAULT) }
}

const SET_MODE_STRICT: c_uint = 0;
pub(super) const SET_MODE_FILTER: c_uint = 1;
const GET_ACTION_AVAIL: c_uint = 2;
pub(super) const GET_NOTIF_SIZES: c_uint = 3;

/// Calls seccomp(2); the error is the error number.
///
/// # Safety
/// `args` must be null or point to what the operation reads or writes.
pub(super) unsafe fn seccomp(
    operation: c_uint,
    flags: c_uint,
    args: *mut c_void,
) -> Result<c_int, c_int> {
    // SAFETY: the caller promises it.
    let result: c_long = unsafe { libc::syscall(libc::SYS_seccomp, operation, flags, args) };
    if result < 0 { Err(last_error()) } else { Ok(result as c_int) }
}

/// The error number of the last call that failed.
pub(super) fn last_error() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_implies_those_below() {
        let support = Support::new();
        for level in 1..=MAX_LEVEL {
            support.set_level(level);
            assert_eq!(support.level(), level);
            assert_eq!(support.has_syscall(), level >= 2);
            assert_eq!(support.has_action(Verdict::KILL_PROCESS), level >= 3);
            assert_eq!(support.has_action(Verdict::LOG), level >= 3);
            assert_eq!(support.has_flag(Flag::Log), level >= 3);
            assert_eq!(support.has_flag(Flag::SpeculativeStoreBypass), level >= 4);
            assert_eq!(support.has_action(Verdict::user_notif(0)), level >= 5);
            assert_eq!(support.has_flag(Flag::ThreadSyncError), level >= 6);
            assert_eq!(support.has_flag(Flag::WaitKillable), level >= 7);
        }
    }

    /// The answers about this kernel are the same, whether all flags are asked for together or everything one by one.
    #[test]
    fn flags_are_supported_together_if_everything_is() {
        let (together, single) = (Support::new(), Support::new());
        let supported = Feature::ALL.iter().filter(|feature| single.has(**feature)).count();
        assert_eq!(accepts_all_flags(), supported == Feature::COUNT);
        assert_eq!(together.level(), single.level());
        for feature in Feature::ALL {
            assert_eq!(together.has(feature), single.has(feature), "{feature:?}");
        }
    }

    #[test]
    fn actions_have_their_exact_values() {
        let support = Support::new();
        support.set_level(MAX_LEVEL);
        for (action, is_valid) in [
            (0, true),
            (1, false),
            (0x0003_0000, true),
            (0x0003_0001, true),
            (0x0003_ffff, true),
            (0x0005_0000, true),
            (0x0005_0ffe, true),
            (0x0005_0fff, false),
            (0x7ff0_ffff, true),
            (0x7fc0_0000, true),
            (0x7fc0_0001, false),
            (0x7ffc_0000, true),
            (0x7fff_0000, true),
            (0x7fff_0001, false),
            (0x8000_0000, true),
            (0xffff_ffff, false),
        ] {
            assert_eq!(support.has_action(Verdict(action)), is_valid, "{action:#x}");
        }
    }
}
