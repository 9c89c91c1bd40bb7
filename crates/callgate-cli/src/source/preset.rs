//! Presets as sources: `preset:NAME`.

use callgate_formats::PRESETS;

use super::format::PRESET;
use crate::report::{Failure, Result};
use crate::text::did_you_mean;

/// The name of a preset that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PresetSource(pub(super) &'static str);

impl PresetSource {
    /// Parses what follows `preset:`.
    pub(super) fn parse(name: &str) -> Result<PresetSource> {
        let known = PRESETS.into_iter().find(|known| *known == name);
        known.map(PresetSource).ok_or_else(|| {
            Failure::new(format!("unknown preset \"{name}\"")).help(format!(
                "the presets are {}{}",
                PRESETS.join(", "),
                did_you_mean(name, &PRESETS)
            ))
        })
    }

    /// The name in messages.
    pub(super) fn name(&self) -> String {
        format!("{PRESET}:{}", self.0)
    }
}
