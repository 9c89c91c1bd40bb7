//! Measurements of engines.

use std::time::Duration;

use callgate_measure::engines::Executed;
use callgate_measure::engines::workloads::{EngineInputs, Workload};

use callgate_tasks::Result;

// Rows with which others are compared, and one of our own.
pub(super) const GCC: &str = "gcc -O2";
pub(super) const LIBPCAP: &str = "libpcap";
pub(super) const GVISOR: &str = "gVisor pkg/bpf";
pub(super) const NATIVE_IN_C: &str = "callgate, jit from C";

/// The length of the program for the compilation time.
pub(super) const LONG: usize = 400;

/// Times of an engine per input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// Nanoseconds for the same input each time.
    pub(super) hot: f64,
    /// Nanoseconds for different inputs, mean.
    pub(super) cold: f64,
}

/// An engine with its times, or why it was not measured.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) times: Result<Times>,
    pub(super) compile: Option<Duration>,
    pub(super) bytes: Option<usize>,
}

/// One workload.
pub(super) struct Section {
    pub(super) name: String,
    pub(super) insns: usize,
    pub(super) executed: Executed,
    /// Whether the hot input is constant allow.
    pub(super) constant: bool,
    pub(super) rows: Vec<Row>,
}

/// All workloads.
pub(in super::super) struct Engines {
    pub(super) versions: Vec<String>,
    pub(super) sections: Vec<Section>,
}

/// The instructions of a workload.
pub(super) fn insns(workload: &Workload) -> &[callgate_core::Insn] {
    match &workload.inputs {
        EngineInputs::Syscalls { program, .. } => program.insns(),
        EngineInputs::Packets { program, .. } => program.insns(),
    }
}

impl Row {
    /// The best of two measurements.
    pub(super) fn or_better(self, other: Row) -> Row {
        let times = match (self.times, other.times) {
            (Ok(one), Ok(two)) => {
                Ok(Times { hot: one.hot.min(two.hot), cold: one.cold.min(two.cold) })
            }
            // An engine that fails once is not measured.
            (Err(why), _) | (_, Err(why)) => Err(why),
        };
        let compile = self.compile.into_iter().chain(other.compile).min();
        Row { times, compile, ..self }
    }
}

impl Engines {
    /// The versions of the measured engines.
    pub(in super::super) fn versions(&self) -> &[String] {
        &self.versions
    }
}
