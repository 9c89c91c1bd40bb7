//! What a profile is read for.

use callgate_core::Arch;

/// What a profile is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architecture of the host, both of its kernel and of its programs.
    pub native: Arch,
    /// Whether a name that no architecture has is an error instead of a warning.
    pub strict: bool,
    /// Whether the result has statements.
    pub statements: bool,
}

impl ReadOptions {
    /// Reads for a host.
    pub fn new(native: Arch) -> ReadOptions {
        ReadOptions { native, strict: false, statements: false }
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// `u:NAME`.
    User,
    /// `g:NAME`.
    Group,
}

/// Finds the number of a user or a group on the host.
pub type Ids<'a> = dyn FnMut(IdKind, &str) -> Option<u32> + 'a;

/// The number of a user, and of the group of the same name, that snapd assigns (`snap/system_usernames.go`), or of root.
pub fn system_id(name: &str) -> Option<u32> {
    const IDS: [(&str, u32); 6] = [
        ("root", 0),
        ("snap_daemon", 584_788),
        ("snap_microk8s", 584_789),
        ("snap_aziotedge", 584_790),
        ("snap_aziotdu", 584_791),
        ("_daemon_", 584_792),
    ];
    IDS.iter().find(|(known, _)| *known == name).map(|(_, id)| *id)
}
