//! What tests need, and the reasons to skip them.

use std::fmt;

macro_rules! needs {
    ($($(#[$doc:meta])* $need:ident = $name:literal,)*) => {
        /// What a test may need that a machine may lack.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Need {
            $($(#[$doc])* $need,)*
        }

        impl Need {
            const ALL: &[Need] = &[$(Need::$need,)*];

            /// Its name in `CALLGATE_REQUIRE`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Need::$need => $name,)*
                }
            }
        }
    };
}

needs! {
    /// Effective user ID 0, or the capabilities that come with it.
    Root = "root",
    /// A user other than root, whom permissions of files stop.
    User = "user",
    /// `ptrace(2)` of other processes.
    Ptrace = "ptrace",
    /// eBPF programs at tracepoints, and the kernel's type information.
    Bpf = "bpf",
    /// Listeners of seccomp notifications.
    Listener = "listener",
    /// `/proc`.
    Proc = "proc",
    /// Mounts in a namespace of its own.
    Mount = "mount",
    /// Sockets on the loopback device.
    Sockets = "sockets",
    /// A C compiler and qemu's user-mode emulation for another architecture.
    Qemu = "qemu",
    /// `strace(1)`.
    Strace = "strace",
    /// An OCI runtime.
    Containers = "containers",
    /// The SMT solvers z3 and cvc5; of the tests, only `cargo lab smt` uses them.
    Smt = "smt",
    /// Coq and OCaml; no test uses them, only `verified/check`.
    Coq = "coq",
    /// A command or library of the system that is not named here.
    Tool = "tool",
    /// A feature of the running kernel that is not named here.
    Kernel = "kernel",
}

impl Need {
    /// Whether `CALLGATE_REQUIRE` names it.
    ///
    /// # Panics
    /// If the variable contains an unknown name.
    pub fn is_required(self) -> bool {
        let required = std::env::var("CALLGATE_REQUIRE").unwrap_or_default();
        let mut names = required.split(',').map(str::trim).filter(|name| !name.is_empty());
        let known = |name: &str| name == "all" || Need::ALL.iter().any(|need| need.name() == name);
        if let Some(unknown) = names.clone().find(|name| !known(name)) {
            let all: Vec<&str> = Need::ALL.iter().map(|need| need.name()).collect();
            panic!(
                "unknown need \"{unknown}\" in CALLGATE_REQUIRE; known are all, {}",
                all.join(", ")
            );
        }
        // No process is root and another user, so "all" cannot name both.
        names.any(|name| name == self.name() || name == "all" && self != Need::User)
    }
}

/// Why a test cannot run here.
#[derive(Debug)]
pub struct Skip {
    pub(crate) need: Need,
    pub(crate) reason: String,
}

impl Skip {
    /// This need is not met, for this reason.
    pub fn new(need: Need, reason: impl fmt::Display) -> Skip {
        Skip { need, reason: reason.to_string() }
    }
}

/// What a test returns; a failure is a panic, as in the built-in harness.
pub type TestResult = Result<(), Skip>;

/// Skips the test unless the effective user is root.
///
/// # Errors
/// When it is not.
pub fn needs_root() -> TestResult {
    let user = rustix::process::geteuid();
    if user.is_root() {
        return Ok(());
    }
    Err(Skip::new(Need::Root, format!("the effective user ID is {}", user.as_raw())))
}

/// Skips the test unless one of the directories in `PATH` contains this program.
///
/// # Errors
/// When none does.
pub fn needs_program(need: Need, name: &str) -> TestResult {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|directory| directory.join(name).is_file()) {
        return Ok(());
    }
    Err(Skip::new(need, format!("{name} is not installed")))
}
