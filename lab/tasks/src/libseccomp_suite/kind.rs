//! The types of tests.

/// The type of a test, which says how it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A program, which must succeed.
    Basic,
    /// A program exports a filter, whose verdicts for syscalls are compared with the expected ones.
    Simulation,
    /// The same with random syscalls, for which any verdict is right.
    Fuzz,
    /// A program exports a filter under valgrind, which must find neither errors nor leaks.
    Valgrind,
    /// A program installs a filter and violates it; the exit status says what the kernel did.
    Live,
}

impl Kind {
    pub(super) const ALL: [Kind; 5] =
        [Kind::Basic, Kind::Simulation, Kind::Fuzz, Kind::Valgrind, Kind::Live];

    /// The name in tables of tests.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Basic => "basic",
            Kind::Simulation => "bpf-sim",
            Kind::Fuzz => "bpf-sim-fuzz",
            Kind::Valgrind => "bpf-valgrind",
            Kind::Live => "live",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
