//! All readers of user input.

use super::input::Reader;
use super::{android, kafel, logs, packets, policies, profiles, programs, units};

/// The readers of each kind of input.
pub(in crate::hostile) fn readers() -> impl Iterator<Item = &'static Reader> {
    let kinds = [
        profiles::READERS,
        policies::READERS,
        android::READERS,
        kafel::READERS,
        units::READERS,
        programs::READERS,
        logs::READERS,
        packets::READERS,
    ];
    kinds.into_iter().flatten()
}
