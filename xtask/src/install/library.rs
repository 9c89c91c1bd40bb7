//! What there is to install.

use callgate_tasks::c_library::{self, LIBCALLGATE, LIBSECCOMP};

/// A library for C, and what is installed with it.
#[derive(Debug)]
pub(crate) struct Library {
    /// What users call it, and the name of its files without extensions.
    pub(crate) name: &'static str,
    /// How it is built.
    pub(super) build: c_library::Library,
    /// The version of the interface, which the file of the shared library has in its name.
    pub(crate) version: &'static str,
    /// The headers, in the directory `include` of the package. The first declares all functions.
    pub(super) headers: &'static [&'static str],
    /// What the names of all its functions begin with.
    pub(super) prefix: &'static str,
    /// The maximum size of the shared library in bytes.
    pub(super) max_size: u64,
    /// One line for pkg-config.
    pub(super) description: &'static str,
    /// The name of its module of pkg-config.
    pub(super) module: &'static str,
}

/// All libraries. The first is installed if the user names none.
pub(super) static LIBRARIES: [Library; 2] = [
    Library {
        name: "libseccomp",
        build: LIBSECCOMP,
        // Of libseccomp, whose interface it has.
        version: "2.6.1",
        headers: &["seccomp.h", "seccomp-syscalls.h"],
        prefix: "seccomp_",
        max_size: 3 << 20,
        description: "seccomp filters from rules, compiled and proved by Callgate",
        module: "libseccomp",
    },
    Library {
        name: "libcallgate",
        build: LIBCALLGATE,
        version: env!("CARGO_PKG_VERSION"),
        headers: &["callgate.h", "callgate-install.h"],
        prefix: "callgate_",
        max_size: 5 << 20,
        description: "seccomp filters from policies of any language, compiled and proved",
        module: "callgate",
    },
];

impl Library {
    /// The library that a user calls so.
    pub(crate) fn named(name: &str) -> Option<&'static Library> {
        LIBRARIES.iter().find(|library| library.name == name)
    }

    /// The name of the shared library that programs ask for.
    pub(crate) fn soname(&self) -> &'static str {
        self.build.soname
    }

    /// The file of the shared library.
    pub(crate) fn file(&self) -> String {
        format!("{}.so.{}", self.name, self.version)
    }
}
