//! What a text is read for, with which macros, which part of it, and what is read.

use crate::diagnostic::Diagnostic;
use crate::token::quote;
use callgate_core::{Arch, Endian, RawInsn};

/// The machine that the program of a text is for, the macros that are defined without the text, and which of its programs is
/// read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOptions {
    endian: Endian,
    pub(super) arch: Option<Arch>,
    pub(super) usual_arch: Option<Arch>,
    pub(super) definitions: Vec<Definition>,
    pub(super) is_strict: bool,
    pub(super) part: Option<String>,
}

impl TextOptions {
    /// For machines of a byte order. If the text compares with exactly one architecture, it is read for that one.
    pub const fn new(endian: Endian) -> TextOptions {
        let definitions = Vec::new();
        TextOptions {
            endian,
            arch: None,
            usual_arch: None,
            definitions,
            is_strict: false,
            part: None,
        }
    }

    /// The architecture of the names of syscalls and constants, whatever the text says.
    #[must_use]
    pub fn with_arch(self, arch: Arch) -> TextOptions {
        TextOptions { arch: Some(arch), ..self }
    }

    /// The architecture for texts that do not say which one they are for.
    #[must_use]
    pub fn with_usual_arch(self, arch: Arch) -> TextOptions {
        TextOptions { usual_arch: Some(arch), ..self }
    }

    /// With macros that are defined, or not, before the text is read. A name that the text declares as a variable or a
    /// parameter is then a value instead of a macro.
    #[must_use]
    pub fn with_definitions(self, definitions: Vec<Definition>) -> TextOptions {
        TextOptions { definitions, ..self }
    }

    /// Whether assumptions about a text, such as about the headers that it includes, are errors instead of warnings.
    #[must_use]
    pub fn with_strict(self, is_strict: bool) -> TextOptions {
        TextOptions { is_strict, ..self }
    }

    /// Which array of instructions in source code is the program: its name, the name of the function that it is in, or its line.
    ///
    /// ```
    /// use callgate_bpf::text::{self, TextOptions};
    /// use callgate_core::Endian;
    ///
    /// let source = "struct sock_filter a[] = { { 6, 0, 0, 0 } }, b[] = { { 6, 0, 0, 0x7fff0000 } };";
    /// let options = TextOptions::new(Endian::Little);
    /// assert!(text::parse_program(source, &options).is_err());
    /// let options = options.with_part("b".to_owned());
    /// assert_eq!(text::parse_program(source, &options)?.insns[0].k, 0x7fff_0000);
    /// # Ok::<(), callgate_bpf::asm::AsmError>(())
    /// ```
    #[must_use]
    pub fn with_part(self, part: String) -> TextOptions {
        TextOptions { part: Some(part), ..self }
    }

    /// The byte order of hexadecimal bytes and of the halves of arguments.
    pub const fn endian(&self) -> Endian {
        self.endian
    }

    /// The given architecture, or else the one that the text is for, or else the usual one.
    pub(crate) fn arch(&self, of_text: impl FnOnce() -> Option<Arch>) -> Option<Arch> {
        self.arch.or_else(of_text).or(self.usual_arch)
    }
}

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
    /// assert!(text::parse_program(source, &options).is_err());
    /// let options = options.with_definitions(vec![Definition::new("STRICT")?]);
    /// assert_eq!(text::parse_program(source, &options)?.insns[0].k, 0);
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

/// The program of a text.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextProgram {
    /// The instructions, in the encoding of user space.
    pub insns: Vec<RawInsn>,
    /// The byte order of the machine that it is for.
    pub endian: Endian,
    /// Whether the text has the internal opcodes of Linux 3.5 to 3.14, which were translated.
    pub is_of_linux3: bool,
    /// Whether the text has `return REJECT`, as documents about gVisor do, which was read as KILL_PROCESS: the default
    /// action of gVisor (`pkg/seccomp/seccomp.go`, `defaultAction`).
    pub has_reject: bool,
    /// Warnings: values that are too large for their fields, as compilers warn about them.
    pub warnings: Vec<Diagnostic>,
}
