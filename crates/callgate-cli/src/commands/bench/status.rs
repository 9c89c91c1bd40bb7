//! The exit status of a measurement.

use crate::report;

/// The exit status if the measurement is noisier than `--precision`.
const NOISY: u8 = 3;

/// The exit status after Ctrl-C, as in a shell.
pub(super) const INTERRUPTED: u8 = 130;

/// Warns if the measurement was stopped early or is too noisy; returns the exit status.
pub(super) fn finish(interrupted: bool, noisy: Option<&str>, precision: f64) -> u8 {
    if interrupted {
        report::warn("stopped early: the figures are from fewer rounds", "");
        return INTERRUPTED;
    }
    let Some(why) = noisy else { return 0 };
    report::warn(
        format!("too noisy for {precision} %: {why}"),
        "measure on an idle machine, for a longer --time, or with a larger --precision",
    );
    NOISY
}
