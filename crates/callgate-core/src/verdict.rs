//! Verdicts: the 32-bit value that a filter returns, and the action that the kernel takes for it.
//!
//! Source: `include/uapi/linux/seccomp.h` (`SECCOMP_RET_*`), `kernel/seccomp.c` (`__seccomp_filter`)
//! and `seccomp(2)`.

use std::fmt;

/// The raw 32-bit return value of a filter: an action in the high half, its data in the low half.
///
/// Two verdicts are equal only if all 32 bits are, even if the kernel would treat them alike: the
/// terminals of the diagram are raw values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Verdict(pub u32);

/// The kernel's action for a [`Verdict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// The process is killed with SIGSYS.
    KillProcess,
    /// The calling thread is killed with SIGSYS.
    KillThread,
    /// SIGSYS is sent, with the data in `si_errno`.
    Trap(u16),
    /// The syscall is skipped and fails with this errno (the kernel caps it at 4095).
    Errno(u16),
    /// The supervisor decides, by a notification to the listener; without a listener the syscall fails with
    /// ENOSYS.
    UserNotif(u16),
    /// The tracer is notified, with this data; without a tracer the syscall fails with ENOSYS.
    Trace(u16),
    /// The syscall runs and is logged.
    Log,
    /// The syscall runs.
    Allow,
    /// Not a known action: the kernel kills the process.
    Unknown(u32),
}

impl Verdict {
    /// `SECCOMP_RET_KILL_PROCESS`.
    pub const KILL_PROCESS: Verdict = Verdict(0x8000_0000);
    /// `SECCOMP_RET_KILL_THREAD`.
    pub const KILL_THREAD: Verdict = Verdict(0);
    /// `SECCOMP_RET_LOG`.
    pub const LOG: Verdict = Verdict(0x7ffc_0000);
    /// `SECCOMP_RET_ALLOW`.
    pub const ALLOW: Verdict = Verdict(0x7fff_0000);

    /// `SECCOMP_RET_ERRNO` with an errno.
    pub const fn errno(errno: u16) -> Verdict {
        Verdict(0x0005_0000 | errno as u32)
    }

    /// `SECCOMP_RET_TRAP` with data.
    pub const fn trap(data: u16) -> Verdict {
        Verdict(0x0003_0000 | data as u32)
    }

    /// `SECCOMP_RET_TRACE` with data.
    pub const fn trace(data: u16) -> Verdict {
        Verdict(0x7ff0_0000 | data as u32)
    }

    /// `SECCOMP_RET_USER_NOTIF` with data.
    pub const fn user_notif(data: u16) -> Verdict {
        Verdict(0x7fc0_0000 | data as u32)
    }

    /// The low 16 bits (`SECCOMP_RET_DATA`).
    pub const fn data(self) -> u16 {
        self.0 as u16
    }

    /// The action in the high 16 bits (`SECCOMP_RET_ACTION_FULL`).
    pub const fn action(self) -> Action {
        match self.0 >> 16 {
            0x8000 => Action::KillProcess,
            0x0000 => Action::KillThread,
            0x0003 => Action::Trap(self.data()),
            0x0005 => Action::Errno(self.data()),
            0x7fc0 => Action::UserNotif(self.data()),
            0x7ff0 => Action::Trace(self.data()),
            0x7ffc => Action::Log,
            0x7fff => Action::Allow,
            _ => Action::Unknown(self.0),
        }
    }

    /// The precedence of the action: greater is higher, and data does not count. Of the verdicts of
    /// stacked filters the kernel keeps the one with the smallest action as a signed number
    /// (`ACTION_ONLY` in `kernel/seccomp.c`, since Linux 4.14); this is the complement of that number.
    ///
    /// ```
    /// use callgate_core::Verdict;
    /// assert!(Verdict::KILL_PROCESS.precedence() > Verdict::KILL_THREAD.precedence());
    /// assert!(Verdict::errno(1).precedence() > Verdict::ALLOW.precedence());
    /// assert_eq!(Verdict::errno(1).precedence(), Verdict::errno(38).precedence());
    /// ```
    pub const fn precedence(self) -> i32 {
        !((self.0 & 0xffff_0000) as i32)
    }

    /// The verdict that the kernel keeps of two filters of a stack, `self` being that of the newer one:
    /// that whose action has higher precedence, and `self` when both have the same action, its data
    /// included. One iteration of the loop in `seccomp_run_filters` (`kernel/seccomp.c`).
    ///
    /// ```
    /// use callgate_core::Verdict;
    /// assert_eq!(Verdict::LOG.or_higher_precedence(Verdict::errno(1)), Verdict::errno(1));
    /// assert_eq!(Verdict::errno(38).or_higher_precedence(Verdict::errno(1)), Verdict::errno(38));
    /// ```
    #[inline(always)]
    #[must_use]
    pub const fn or_higher_precedence(self, older: Verdict) -> Verdict {
        if older.precedence() > self.precedence() { older } else { self }
    }

    /// The kernel's verdict when the filters of a stack return these, the newest filter first. Without
    /// filters it is ALLOW, so the data of ALLOW is never kept.
    ///
    /// ```
    /// use callgate_core::Verdict;
    /// assert_eq!(Verdict::of_stack([]), Verdict::ALLOW);
    /// let (newest, oldest) = (Verdict::errno(38), Verdict::errno(1));
    /// assert_eq!(Verdict::of_stack([newest, Verdict::LOG, oldest]), newest);
    /// ```
    #[inline(always)]
    pub fn of_stack(newest_first: impl IntoIterator<Item = Verdict>) -> Verdict {
        newest_first.into_iter().fold(Verdict::ALLOW, Verdict::or_higher_precedence)
    }

    /// Whether the syscall runs under this verdict (ALLOW or LOG).
    pub const fn permits(self) -> bool {
        matches!(self.action(), Action::Allow | Action::Log)
    }
}

impl fmt::Display for Verdict {
    /// As in `seccomp(2)` without the prefix: `ALLOW`, `ERRNO(EPERM)`, `TRACE(7)`, `KILL_PROCESS`.
    /// Data that an action ignores is shown if it is not 0, so that different verdicts never look alike.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_data = |f: &mut fmt::Formatter<'_>, name: &str| match self.data() {
            0 => f.write_str(name),
            data => write!(f, "{name}({data})"),
        };
        match self.action() {
            Action::KillProcess => with_data(f, "KILL_PROCESS"),
            Action::KillThread => with_data(f, "KILL_THREAD"),
            Action::Trap(_) => with_data(f, "TRAP"),
            Action::Errno(errno) => match errno_name(errno) {
                Some(name) => write!(f, "ERRNO({name})"),
                None => write!(f, "ERRNO({errno})"),
            },
            Action::UserNotif(_) => with_data(f, "USER_NOTIF"),
            Action::Trace(_) => with_data(f, "TRACE"),
            Action::Log => with_data(f, "LOG"),
            Action::Allow => with_data(f, "ALLOW"),
            Action::Unknown(raw) => write!(f, "UNKNOWN({raw:#010x})"),
        }
    }
}

/// The name of an errno with the generic numbers, as on x86 (mips, parisc, alpha and sparc differ for
/// some).
pub fn errno_name(errno: u16) -> Option<&'static str> {
    ERRNO_NAMES.iter().find(|(number, _)| *number == errno).map(|(_, name)| *name)
}

/// The number of an errno name such as `EPERM`, also of the aliases `EWOULDBLOCK`, `EDEADLOCK` and
/// `ENOTSUP`. On POWER, `EDEADLOCK` is 58.
pub fn errno_number(name: &str) -> Option<u16> {
    let name = match name {
        "EWOULDBLOCK" => "EAGAIN",
        "EDEADLOCK" => "EDEADLK",
        "ENOTSUP" => "EOPNOTSUPP",
        name => name,
    };
    ERRNO_NAMES.iter().find(|(_, known)| *known == name).map(|(number, _)| *number)
}

/// `include/uapi/asm-generic/errno-base.h` and `errno.h`.
#[rustfmt::skip]
const ERRNO_NAMES: &[(u16, &str)] = &[
    (1, "EPERM"), (2, "ENOENT"), (3, "ESRCH"), (4, "EINTR"), (5, "EIO"), (6, "ENXIO"),
    (7, "E2BIG"), (8, "ENOEXEC"), (9, "EBADF"), (10, "ECHILD"), (11, "EAGAIN"), (12, "ENOMEM"),
    (13, "EACCES"), (14, "EFAULT"), (15, "ENOTBLK"), (16, "EBUSY"), (17, "EEXIST"), (18, "EXDEV"),
    (19, "ENODEV"), (20, "ENOTDIR"), (21, "EISDIR"), (22, "EINVAL"), (23, "ENFILE"),
    (24, "EMFILE"), (25, "ENOTTY"), (26, "ETXTBSY"), (27, "EFBIG"), (28, "ENOSPC"),
    (29, "ESPIPE"), (30, "EROFS"), (31, "EMLINK"), (32, "EPIPE"), (33, "EDOM"), (34, "ERANGE"),
    (35, "EDEADLK"), (36, "ENAMETOOLONG"), (37, "ENOLCK"), (38, "ENOSYS"), (39, "ENOTEMPTY"),
    (40, "ELOOP"), (42, "ENOMSG"), (43, "EIDRM"), (44, "ECHRNG"), (45, "EL2NSYNC"),
    (46, "EL3HLT"), (47, "EL3RST"), (48, "ELNRNG"), (49, "EUNATCH"), (50, "ENOCSI"),
    (51, "EL2HLT"), (52, "EBADE"), (53, "EBADR"), (54, "EXFULL"), (55, "ENOANO"), (56, "EBADRQC"),
    (57, "EBADSLT"), (59, "EBFONT"), (60, "ENOSTR"), (61, "ENODATA"), (62, "ETIME"),
    (63, "ENOSR"), (64, "ENONET"), (65, "ENOPKG"), (66, "EREMOTE"), (67, "ENOLINK"), (68, "EADV"),
    (69, "ESRMNT"), (70, "ECOMM"), (71, "EPROTO"), (72, "EMULTIHOP"), (73, "EDOTDOT"),
    (74, "EBADMSG"), (75, "EOVERFLOW"), (76, "ENOTUNIQ"), (77, "EBADFD"), (78, "EREMCHG"),
    (79, "ELIBACC"), (80, "ELIBBAD"), (81, "ELIBSCN"), (82, "ELIBMAX"), (83, "ELIBEXEC"),
    (84, "EILSEQ"), (85, "ERESTART"), (86, "ESTRPIPE"), (87, "EUSERS"), (88, "ENOTSOCK"),
    (89, "EDESTADDRREQ"), (90, "EMSGSIZE"), (91, "EPROTOTYPE"), (92, "ENOPROTOOPT"),
    (93, "EPROTONOSUPPORT"), (94, "ESOCKTNOSUPPORT"), (95, "EOPNOTSUPP"), (96, "EPFNOSUPPORT"),
    (97, "EAFNOSUPPORT"), (98, "EADDRINUSE"), (99, "EADDRNOTAVAIL"), (100, "ENETDOWN"),
    (101, "ENETUNREACH"), (102, "ENETRESET"), (103, "ECONNABORTED"), (104, "ECONNRESET"),
    (105, "ENOBUFS"), (106, "EISCONN"), (107, "ENOTCONN"), (108, "ESHUTDOWN"),
    (109, "ETOOMANYREFS"), (110, "ETIMEDOUT"), (111, "ECONNREFUSED"), (112, "EHOSTDOWN"),
    (113, "EHOSTUNREACH"), (114, "EALREADY"), (115, "EINPROGRESS"), (116, "ESTALE"),
    (117, "EUCLEAN"), (118, "ENOTNAM"), (119, "ENAVAIL"), (120, "EISNAM"), (121, "EREMOTEIO"),
    (122, "EDQUOT"), (123, "ENOMEDIUM"), (124, "EMEDIUMTYPE"), (125, "ECANCELED"),
    (126, "ENOKEY"), (127, "EKEYEXPIRED"), (128, "EKEYREVOKED"), (129, "EKEYREJECTED"),
    (130, "EOWNERDEAD"), (131, "ENOTRECOVERABLE"), (132, "ERFKILL"),
    (133, "EHWPOISON"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_man_page() {
        assert_eq!(Verdict::errno(1).to_string(), "ERRNO(EPERM)");
        assert_eq!(Verdict::errno(4000).to_string(), "ERRNO(4000)");
        assert_eq!(Verdict::ALLOW.to_string(), "ALLOW");
        assert_eq!(Verdict(0x7fff_0001).to_string(), "ALLOW(1)");
        assert_eq!(Verdict::KILL_PROCESS.to_string(), "KILL_PROCESS");
        assert_eq!(Verdict::KILL_THREAD.to_string(), "KILL_THREAD");
        assert_eq!(Verdict::trap(0).to_string(), "TRAP");
        assert_eq!(Verdict::user_notif(0).to_string(), "USER_NOTIF");
        assert_eq!(Verdict::trace(7).to_string(), "TRACE(7)");
        assert_eq!(Verdict::LOG.to_string(), "LOG");
        assert_eq!(Verdict(0x1234_5678).to_string(), "UNKNOWN(0x12345678)");
    }

    /// `SECCOMP_RET_*` in `include/uapi/linux/seccomp.h`, from the highest precedence to the lowest.
    const ACTIONS: [(Verdict, u32, Action); 8] = [
        (Verdict::KILL_PROCESS, 0x8000_0000, Action::KillProcess),
        (Verdict::KILL_THREAD, 0, Action::KillThread),
        (Verdict::trap(0x0102), 0x0003_0102, Action::Trap(0x0102)),
        (Verdict::errno(0xfff), 0x0005_0fff, Action::Errno(0xfff)),
        (Verdict::user_notif(0xffff), 0x7fc0_ffff, Action::UserNotif(0xffff)),
        (Verdict::trace(7), 0x7ff0_0007, Action::Trace(7)),
        (Verdict::LOG, 0x7ffc_0000, Action::Log),
        (Verdict::ALLOW, 0x7fff_0000, Action::Allow),
    ];

    #[test]
    fn values_are_those_of_the_kernel() {
        for (verdict, value, action) in ACTIONS {
            assert_eq!((verdict, verdict.action()), (Verdict(value), action));
            assert_eq!(verdict.data(), value as u16);
            assert_eq!(verdict.permits(), matches!(action, Action::Allow | Action::Log));
        }
        assert_eq!(Verdict(0x0001_0002).action(), Action::Unknown(0x0001_0002));
        assert!(!Verdict(0x0001_0002).permits());
    }

    #[test]
    fn precedence_is_that_of_the_action_and_the_newer_of_equals_is_kept() {
        for (index, (higher, ..)) in ACTIONS.iter().enumerate() {
            let other_data = Verdict(higher.0 ^ 0x00f0);
            assert_eq!(higher.precedence(), other_data.precedence(), "{higher}");
            assert_eq!(higher.or_higher_precedence(other_data), *higher);
            for (lower, ..) in &ACTIONS[index + 1..] {
                assert!(higher.precedence() > lower.precedence(), "{higher} {lower}");
                assert_eq!(higher.or_higher_precedence(*lower), *higher);
                assert_eq!(lower.or_higher_precedence(*higher), *higher);
            }
        }
        let stack = [Verdict::LOG, Verdict::errno(38), Verdict::ALLOW, Verdict::errno(1)];
        assert_eq!(Verdict::of_stack(stack), Verdict::errno(38));
        assert_eq!(Verdict::of_stack([Verdict(0x7fff_0001)]), Verdict::ALLOW);
    }

    #[test]
    fn errno_names_and_numbers_are_inverse() {
        for (number, name) in ERRNO_NAMES {
            assert_eq!(errno_number(name), Some(*number));
            assert_eq!(errno_name(*number), Some(*name));
        }
        let aliases = ["EWOULDBLOCK", "EDEADLOCK", "ENOTSUP"].map(errno_number);
        assert_eq!(aliases, [Some(11), Some(35), Some(95)]);
        assert_eq!((errno_number("ENOTHING"), errno_name(0)), (None, None));
    }
}
