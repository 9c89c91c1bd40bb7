//! Part `drop-in`: our `libseccomp.so.2` as Debian packages.
//!
//! `libseccomp2-callgate` has the library in a directory of its own, where one program at a time finds it.
//! `libseccomp2-callgate-default` puts it in place of the library of `libseccomp2`, which stays installed: its file is
//! diverted, and comes back when the package is removed. [docs/how-to/replace-libseccomp.md](../../../../docs/how-to/replace-libseccomp.md) is for those who
//! install them.
//!
//! `check.sh` installs, uses, upgrades and removes them in a root directory of Debian 12.

mod build;
mod check;
mod library;
mod packages;

pub(super) use build::build;
pub(super) use check::check;
