//! What silences a check: `powerful-call`, `powerful-call=ptrace`.

use std::fmt;

use callgate_bpf::advice::Advice;
use callgate_bpf::suggest::nearest;
use callgate_bpf::syscalls::{known_name, nearest_name};

use crate::lint::check::Check;

/// A check that is silenced, for all syscalls or for one: `powerful-call`, `powerful-call=ptrace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allow {
    /// The check.
    pub check: Check,
    /// The syscall; `None` for all.
    pub syscall: Option<&'static str>,
}

/// An identifier that no check has, or a name that no syscall has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowError(Unknown);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Unknown {
    Check(String),
    Syscall(String),
}

impl AllowError {
    /// A known word that is probably meant.
    fn nearest(&self) -> Option<&'static str> {
        match &self.0 {
            Unknown::Check(id) => nearest(id, Check::ALL.iter().map(|check| check.id())),
            Unknown::Syscall(name) => nearest_name(name),
        }
    }

    /// Where all known words are, unless the message has one that is probably meant.
    pub fn advice(&self) -> Option<Advice> {
        let all = match &self.0 {
            Unknown::Check(_) => Advice::ListChecks,
            Unknown::Syscall(_) => Advice::ListSyscalls,
        };
        self.nearest().is_none().then_some(all)
    }
}

impl fmt::Display for AllowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Unknown::Check(id) => write!(f, "unknown check `{id}`")?,
            Unknown::Syscall(name) => write!(f, "unknown syscall `{name}`")?,
        }
        match self.nearest() {
            Some(near) => write!(f, "; did you mean `{near}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for AllowError {}

impl std::str::FromStr for Allow {
    type Err = AllowError;

    fn from_str(text: &str) -> Result<Allow, AllowError> {
        let (id, name) = match text.split_once('=') {
            Some((id, name)) => (id.trim(), Some(name.trim())),
            None => (text.trim(), None),
        };
        let unknown = || AllowError(Unknown::Check(id.to_owned()));
        let check = Check::from_id(id).ok_or_else(unknown)?;
        let known = |name: &str| {
            known_name(name).ok_or_else(|| AllowError(Unknown::Syscall(name.to_owned())))
        };
        Ok(Allow { check, syscall: name.map(known).transpose()? })
    }
}
