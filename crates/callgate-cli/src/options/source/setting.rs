//! `--set NAME=VALUE`: the value of a variable.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use callgate_core::template::ValueError;
use callgate_formats::Profile;

use callgate_requests::Value;
use callgate_requests::source::values_of;

/// The value of a variable.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    name: String,
    value: Value,
    /// Whether a source has variables. Copies of the option share it.
    is_used: Arc<AtomicBool>,
}

impl Setting {
    /// Parses `NAME=VALUE`.
    pub(super) fn parse(text: &str) -> Result<Setting, String> {
        let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
        let name = name.strip_prefix('$').unwrap_or(name).to_owned();
        Ok(Setting { name, value: Value::parse(value)?, is_used: Arc::default() })
    }

    /// The name of the variable.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether no source has variables.
    pub(super) fn is_unused(&self) -> bool {
        !self.is_used.load(Ordering::Relaxed)
    }
}

/// The profile with these values; without any, the profile with its variables.
pub(super) fn set(profile: Profile, settings: &[Setting]) -> Result<Profile, ValueError> {
    if settings.is_empty() || profile.policy.variables().is_empty() {
        return Ok(profile);
    }
    settings.iter().for_each(|setting| setting.is_used.store(true, Ordering::Relaxed));
    let named = settings.iter().map(|setting| (setting.name.as_str(), setting.value));
    let values = values_of(&profile.policy, named)?;
    profile.given(&values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_a_name_and_a_number() {
        let parsed =
            |text| Setting::parse(text).map(|setting| (setting.name, setting.value.bits()));
        assert_eq!(parsed("fd=7"), Ok(("fd".to_owned(), 7)));
        assert_eq!(parsed("$limit=0x1000"), Ok(("limit".to_owned(), 4096)));
        assert_eq!(parsed("fd=-1"), Ok(("fd".to_owned(), u64::MAX)));
        assert!(parsed("fd").is_err() && parsed("fd=x").is_err() && parsed("fd=").is_err());
    }
}
