//! `--set NAME=VALUE`: the value of a variable.

use callgate_requests::Value;

/// The value of a variable.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    name: String,
    value: Value,
}

impl Setting {
    /// Parses `NAME=VALUE`.
    pub(super) fn parse(text: &str) -> Result<Setting, String> {
        let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
        let name = name.strip_prefix('$').unwrap_or(name).to_owned();
        Ok(Setting { name, value: Value::parse(value)? })
    }

    /// The name of the variable.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The value.
    pub(super) fn value(&self) -> Value {
        self.value
    }
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
