//! A file test, divided into its parts.

use std::path::Path;

use callgate_bpf::text;
use callgate_core::policy::Policy;
use callgate_core::{Arch, Endian, RawInsn};
use callgate_formats::oci::{self, Dialect, EnosysAbove};

use super::rules;

/// A file test, divided into its parts.
pub struct FileTest {
    settings: Vec<(String, String)>,
    form: Form,
    source: String,
    /// Everything before the second part.
    pub head: String,
    /// The second part and those after it.
    pub expected: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Profile,
    Rules,
    Program,
}

/// The filter of a file test.
pub enum Filter {
    /// What profiles and rules mean.
    Policy(Policy),
    /// The instructions of a program, which the kernel may not accept.
    Program(Vec<RawInsn>, Endian),
    /// The filter cannot be read, for this reason.
    Refused(String),
}

impl FileTest {
    /// Reads a file.
    ///
    /// # Panics
    /// If the file cannot be read, or its first part is not a filter.
    pub fn read(path: &Path) -> FileTest {
        let name = path.display();
        let text = std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{name}: {why}"));
        let (mut settings, mut head, mut source, mut expected) =
            (Vec::new(), String::new(), String::new(), String::new());
        let mut parts = 0;
        let mut form = None;
        for line in text.split_inclusive('\n') {
            if let Some(part) = line.strip_prefix("--- ") {
                parts += 1;
                if parts == 1 {
                    form = Some(match part.trim_end() {
                        "profile" => Form::Profile,
                        "rules" => Form::Rules,
                        "program" => Form::Program,
                        other => panic!("{name}: unknown filter `{other}`"),
                    });
                    head += line;
                    continue;
                }
            }
            let to = match parts {
                0 => {
                    if let Some((key, value)) = line.split_once(": ")
                        && key.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                    {
                        settings.push((key.to_owned(), value.trim().to_owned()));
                    }
                    &mut head
                }
                1 => &mut source,
                _ => &mut expected,
            };
            *to += line;
        }
        let form = form.unwrap_or_else(|| panic!("{name}: missing filter"));
        head += &source;
        FileTest { settings, form, source, head, expected }
    }

    /// All values of a setting.
    pub fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        self.settings.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The last value of a setting.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.all(key).last()
    }

    /// The architectures that the filter is for.
    ///
    /// # Panics
    /// If the setting contains an unknown name.
    pub fn arches(&self) -> Vec<Arch> {
        let names = self.setting("arches").unwrap_or("x86_64").split_whitespace();
        names
            .map(|name| Arch::from_name(name).unwrap_or_else(|| panic!("unknown arch `{name}`")))
            .collect()
    }

    /// The filter.
    ///
    /// # Panics
    /// If a setting has an unknown value, or rules are malformed.
    pub fn filter(&self) -> Filter {
        match self.form {
            Form::Rules => Filter::Policy(rules::policy(&self.source, &self.arches())),
            Form::Program => {
                let endian = match self.setting("endian") {
                    None | Some("little") => Endian::Little,
                    Some("big") => Endian::Big,
                    Some(other) => panic!("unknown byte order `{other}`"),
                };
                match text::parse(&self.source, endian) {
                    Ok(insns) => Filter::Program(insns, endian),
                    Err(why) => Filter::Refused(why.to_string()),
                }
            }
            Form::Profile => match oci::read(&self.source, &self.read_options()) {
                Ok(profile) => Filter::Policy(profile.policy),
                Err(messages) => {
                    let messages: Vec<String> = messages.iter().map(ToString::to_string).collect();
                    Filter::Refused(messages.join("\n"))
                }
            },
        }
    }

    fn read_options(&self) -> oci::ReadOptions {
        let unknown = |key: &str| panic!("unknown value of `{key}`");
        let kernel = self.setting("kernel").unwrap_or("6.18").parse();
        let kernel = kernel.unwrap_or_else(|_| unknown("kernel"));
        let mut options = oci::ReadOptions::new(Arch::X86_64, kernel);
        if self.setting("arches").is_some() {
            options.arches = self.arches();
        }
        options.dialect = self.setting("dialect").map(|name| {
            Dialect::from_name(name).unwrap_or_else(|| panic!("unknown dialect `{name}`"))
        });
        let caps = self.setting("caps").unwrap_or("none").parse();
        options.caps = caps.unwrap_or_else(|_| panic!("unknown value of `caps`"));
        options.enosys_above = Some(match self.setting("enosys-above") {
            None | Some("off") => EnosysAbove::Off,
            Some("on") => EnosysAbove::On,
            Some(other) => panic!("unknown value of `enosys-above`: `{other}`"),
        });
        options
    }
}
