//! The operands of an expression that is given with its sources.

use std::collections::{BTreeMap, BTreeSet};

use callgate_formats::{BUILT_INS, built_in};

use super::expression::Terms;
use super::message::{Message, Messages};
use super::text::{Content, SourceText};

/// The sources that an expression names: those that are given with it, and presets.
pub(super) struct Operands<'s> {
    sources: &'s BTreeMap<String, SourceText>,
    source: &'s SourceText,
    /// The names of the sources that the expression has.
    pub(super) used: BTreeSet<String>,
}

impl<'s> Operands<'s> {
    pub(super) fn new(
        sources: &'s BTreeMap<String, SourceText>,
        source: &'s SourceText,
    ) -> Operands<'s> {
        Operands { sources, source, used: BTreeSet::new() }
    }
}

impl Terms<SourceText, Messages> for Operands<'_> {
    fn source(&mut self, _: usize, name: &str) -> Result<SourceText, Messages> {
        let SourceText { reading, wording, .. } = self.source;
        if let Some(source) = self.sources.get(name) {
            self.used.insert(name.to_owned());
            return Ok(source.clone());
        }
        let is_built_in = built_in(name).is_some();
        let preset = if is_built_in { Some(name) } else { name.strip_prefix("preset:") };
        let Some(preset) = preset else {
            let message =
                format!("the expression names \"{name}\", which is not one of its sources");
            let mut known: Vec<&str> = self.sources.keys().map(String::as_str).collect();
            known.extend(BUILT_INS.iter().map(|one| one.name).chain(["preset:NAME"]));
            let help = format!("the sources are {}", known.join(", "));
            return Err(Message::error(&self.source.name, message, help));
        };
        let content = Content::Preset(preset.to_owned());
        let source = SourceText::new(content, reading.clone());
        Ok(SourceText { name: name.to_owned(), wording, ..source })
    }

    fn is_source(&self, name: &str) -> bool {
        self.sources.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use callgate_formats::languages::Reading;

    use super::*;
    use crate::Arch;
    use crate::source::BUILT_IN;

    #[test]
    fn names_stand_for_given_sources_before_presets() {
        let reading = Reading::new(Arch::X86_64);
        let of = |text: &str| SourceText::new(Content::Text(text.to_owned()), reading.clone());
        let own = "ALLOW { read } DEFAULT KILL";
        let sources =
            BTreeMap::from([("mine".to_owned(), of(own)), (BUILT_IN.to_owned(), of(own))]);
        let source = of("");
        let mut operands = Operands::new(&sources, &source);
        for name in ["mine", BUILT_IN] {
            assert!(operands.is_source(name));
            let found = operands.source(0, name).unwrap();
            assert!(matches!(found.content, Content::Text(text) if text == own), "{name}");
        }
        let old = operands.source(0, "docker-default@24.0").unwrap();
        assert!(matches!(old.content, Content::Preset(name) if name == "docker-default@24.0"));
        let preset = operands.source(0, "preset:no-io-uring").unwrap();
        assert!(matches!(preset.content, Content::Preset(name) if name == "no-io-uring"));
        assert_eq!(operands.used.iter().collect::<Vec<_>>(), [BUILT_IN, "mine"]);
        let error = operands.source(0, "other").unwrap_err().remove(0).diagnostic;
        assert!(error.message.contains("\"other\", which is not one of its sources"), "{error}");
        assert!(error.help.contains("container-default, mine"), "{}", error.help);
    }
}
