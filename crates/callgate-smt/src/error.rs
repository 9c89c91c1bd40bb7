//! The error of the translation.

/// Why filters are not translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untranslatable(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A program contains an instruction that seccomp does not accept: a defect of this project.
    Instruction(usize),
    /// Two filters have a variable of this name with different widths.
    Widths(String),
}

impl Untranslatable {
    pub(crate) fn instruction(at: usize) -> Untranslatable {
        Untranslatable(Kind::Instruction(at))
    }

    pub(crate) fn widths(variable: &str) -> Untranslatable {
        Untranslatable(Kind::Widths(variable.to_owned()))
    }
}

impl std::fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Kind::Instruction(at) => {
                write!(f, "instruction {at} cannot be translated to SMT-LIB (a defect of callgate)")
            }
            Kind::Widths(variable) => write!(
                f,
                "the variable `{variable}` has 32 bits in one filter and 64 bits in another, so the filters cannot be \
                 compared for all of its values; rename one of them"
            ),
        }
    }
}

impl std::error::Error for Untranslatable {}
