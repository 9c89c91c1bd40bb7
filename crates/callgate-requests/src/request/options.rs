//! The options of the compiler in a request.

use callgate_bpf::diagnostic::Diagnostic;
use callgate_codegen::{Aim, Instructions, Model};
use callgate_formats::syntax::reader::{KnownKey, Reader, key};
use callgate_formats::syntax::tree::Node;

use super::model::Compiling;
use super::values::of_text;
use crate::settings::{named, unknown};

/// The settings of the compiler.
const COMPILING: &[&str] = &["model", "optimize", "instructions", "weights"];

/// Reads the options.
pub(super) fn compiling(reader: &mut Reader<'_>, node: Option<&Node<'_>>) -> Option<Compiling> {
    let mut compiling = Compiling::default();
    let Some(node) = node else { return Some(compiling) };
    let known: Vec<KnownKey> = COMPILING.iter().map(|name| key(name)).collect();
    let fields = reader.fields(node, "`options`", &known)?;
    for key in COMPILING {
        if let Some(node) = fields.get(key) {
            of_text(reader, node, &format!("`{key}`"), |text| compiling.set(key, text))?;
        }
    }
    Some(compiling)
}

impl Compiling {
    /// Changes a setting: a key of `options` in a request.
    ///
    /// # Errors
    /// For an unknown key or value.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Diagnostic> {
        match key {
            "model" => {
                let known: Vec<_> = Model::ALL.iter().map(|model| (model.name(), *model)).collect();
                self.model = Some(named("`model`", value, &known)?);
            }
            "optimize" => {
                let known: Vec<_> = Aim::ALL.iter().map(|aim| (aim.name(), *aim)).collect();
                self.aim = named("`optimize`", value, &known)?;
            }
            "instructions" => {
                let known: Vec<_> =
                    Instructions::ALL.iter().map(|set| (set.name(), *set)).collect();
                self.instructions = named("`instructions`", value, &known)?;
            }
            "weights" => self.weights = Some(value.to_owned()),
            _ => return Err(unknown(key, COMPILING)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_is_known() {
        let mut compiling = Compiling::default();
        for key in COMPILING {
            let error = compiling.set(key, "?").err().map(|error| error.message);
            assert!(!error.unwrap_or_default().starts_with("unknown setting"), "{key}");
        }
        let error = compiling.set("modell", "cached").unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.help.as_str()),
            ("unknown setting \"modell\"", "did you mean \"model\"?")
        );
    }
}
