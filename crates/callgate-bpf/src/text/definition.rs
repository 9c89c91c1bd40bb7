//! Macros that are defined without the text: what a compiler is given with `-D` and `-U`.

use crate::lexer::quote;

/// A macro that is defined, or is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    name: String,
    value: Option<String>,
}

impl Definition {
    /// Reads `NAME` or `NAME=VALUE`; without a value it is 1.
    ///
    /// ```
    /// use callgate_bpf::text::{self, Definition, TextOptions};
    /// use callgate_core::Endian;
    ///
    /// let source = "#ifdef STRICT\n{ 6, 0, 0, 0 },\n#else\n{ 6, 0, 0, 0x7fff0000 },\n#endif";
    /// let options = TextOptions::new(Endian::Little);
    /// assert!(text::parse_with(source, &options).is_err());
    /// let options = options.with_definitions(vec![Definition::new("STRICT")?]);
    /// assert_eq!(text::parse_with(source, &options)?.0[0].k, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If this is not a name, or the value has several lines.
    pub fn new(text: &str) -> Result<Definition, String> {
        let (name, value) = text.split_once('=').unwrap_or((text, "1"));
        if value.contains(['\n', '\r', '\0']) || value.trim_end().ends_with('\\') {
            return Err("the value of a macro is one line".to_owned());
        }
        if ["/*", "//", "??/"].iter().any(|mark| value.contains(mark)) {
            return Err("the value of a macro has no comment".to_owned());
        }
        Ok(Definition { name: checked(name)?, value: Some(value.to_owned()) })
    }

    /// A macro that is not defined.
    ///
    /// # Errors
    /// If this is not a name.
    pub fn undefined(name: &str) -> Result<Definition, String> {
        Ok(Definition { name: checked(name)?, value: None })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value; `None` if it is not defined.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }
}

fn checked(name: &str) -> Result<String, String> {
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match name.chars().next() {
        Some(first) if is_name && !first.is_ascii_digit() && name != "defined" => {
            Ok(name.to_owned())
        }
        _ => Err(format!("{} is not the name of a macro", quote(name))),
    }
}
