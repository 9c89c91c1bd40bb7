//! The error codes of the API.

use libc::c_int;

/// An error of a function of the API (`seccomp_init(3)` and the other man pages, section RETURN VALUE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Error {
    /// The library does not permit the operation.
    NotPermitted,
    /// The kernel refused, for a reason that the caller did not ask for.
    Canceled,
    /// The architecture does not permit it.
    Domain,
    /// A rule, a filter or an architecture is there already, or is missing where it must exist.
    Exists,
    /// An internal error.
    Internal,
    /// An argument is invalid.
    Invalid,
    /// The identity of a notification is no longer valid.
    NoEntry,
    /// Not enough memory.
    NoMemory,
    /// The kernel or the library does not support it.
    NotSupported,
    /// A buffer is too small.
    Range,
    /// A thread could not be given the filter.
    Threads,
    /// The program is longer than the kernel permits.
    TooLong,
    /// What the kernel answered (`SCMP_FLTATR_API_SYSRAWRC`).
    Raw(c_int),
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The negative error code.
    pub(crate) fn code(self) -> c_int {
        -match self {
            Error::NotPermitted => libc::EACCES,
            Error::Canceled => libc::ECANCELED,
            Error::Domain => libc::EDOM,
            Error::Exists => libc::EEXIST,
            Error::Internal => libc::EFAULT,
            Error::Invalid => libc::EINVAL,
            Error::NoEntry => libc::ENOENT,
            Error::NoMemory => libc::ENOMEM,
            Error::NotSupported => libc::EOPNOTSUPP,
            Error::Range => libc::ERANGE,
            Error::Threads => libc::ESRCH,
            Error::TooLong => libc::E2BIG,
            Error::Raw(errno) => errno,
        }
    }

    /// The error of a kernel that answered with this error number.
    pub(crate) fn of_kernel(errno: c_int, is_raw: bool) -> Error {
        if is_raw { Error::Raw(errno) } else { Error::Canceled }
    }

    /// The same error as a function returns it that documents all its codes: others become [`Error::Internal`].
    pub(crate) fn documented(self) -> Error {
        const DOCUMENTED: [c_int; 10] = [
            libc::EACCES,
            libc::ECANCELED,
            libc::EDOM,
            libc::EEXIST,
            libc::EINVAL,
            libc::ENOENT,
            libc::ENOMEM,
            libc::EOPNOTSUPP,
            libc::ERANGE,
            libc::ESRCH,
        ];
        if DOCUMENTED.contains(&-self.code()) { self } else { Error::Internal }
    }
}
