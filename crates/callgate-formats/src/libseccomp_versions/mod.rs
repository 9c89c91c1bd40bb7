//! Which version of libseccomp knows which names of syscalls, and with which libseccomp the releases of runc are built.
//!
//! A runtime leaves out the rules for names that its libseccomp does not know, so that these syscalls get the default action of
//! a profile that allows them. A name that libseccomp knows, but for which it has no number on an architecture, has no
//! effect there.
//!
//! Sources: the tables in libseccomp's tags v2.3.0 to v2.6.1 (`names.txt`); `LIBSECCOMP_VERSION` in the `Dockerfile` of runc's tags
//! v1.1.0 to v1.5.1, with which its official binaries are built, and `libcontainer/seccomp/patchbpf/enosys_linux.go`. runc of a
//! distribution takes the libseccomp of the distribution.

mod runc;
mod table;

pub use runc::{RuncVersion, RuncVersionError};
pub use table::{LibseccompVersion, LibseccompVersionError};
