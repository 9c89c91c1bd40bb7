//! The exit status of a measurement.

use clap::ValueEnum;

use crate::report;

/// The exit status if the measurement is noisier than `--precision`, with `--noise fail`.
const NOISY: u8 = 3;

/// The exit status after Ctrl-C, as in a shell.
pub(super) const INTERRUPTED: u8 = 130;

/// What happens if the intervals are wider than `--precision`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Noise {
    /// A warning, and exit status 0: the intervals say how precise the figures are
    Warn,
    /// A warning, and exit status 3
    Fail,
}

/// Warns if the measurement was stopped early or is too noisy; returns the exit status.
pub(super) fn finish(interrupted: bool, noisy: Option<&str>, precision: f64, noise: Noise) -> u8 {
    if interrupted {
        report::warn("stopped early: the figures are from fewer rounds", "");
        return INTERRUPTED;
    }
    let Some(why) = noisy else { return 0 };
    report::warn(
        format!("too noisy for {precision} %: {why}"),
        "measure on an idle machine, for a longer --time, or with a larger --precision",
    );
    match noise {
        Noise::Warn => 0,
        Noise::Fail => NOISY,
    }
}
