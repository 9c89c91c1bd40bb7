//! What a filter costs on a kernel, and what the generator aims at.

/// A model of what the kernel charges for a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Model {
    /// Linux 3.5–3.15, or later with the JIT off: every instruction is interpreted.
    Interpreter,
    /// Linux 3.16–5.10 with the JIT: every executed instruction counts.
    Jit,
    /// Linux 5.11 and later: a call that is constant allow costs nothing after the filter was
    /// installed (`kernel/seccomp.c`, `seccomp_cache_check_allow`), else as with the JIT.
    #[default]
    Cached,
}

impl Model {
    /// All models.
    pub const ALL: &'static [Model] = &[Model::Interpreter, Model::Jit, Model::Cached];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Model::Interpreter => "interpreter",
            Model::Jit => "jit",
            Model::Cached => "cached",
        }
    }

    /// The weight of a constant-allow call, relative to any other call that is as frequent.
    ///
    /// With the verdict cache they cost nothing, but for the installation, which runs the filter
    /// once for each number, and on older kernels; so they still decide between equals.
    pub(crate) const fn constant_allow_weight(self) -> f64 {
        match self {
            Model::Interpreter | Model::Jit => 1.0,
            Model::Cached => 1.0 / 16.0,
        }
    }
}

/// What comes first: expected cost, or size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Aim {
    /// Expected cost, then size.
    #[default]
    Speed,
    /// Size, then expected cost.
    Size,
}

impl Aim {
    /// Both.
    pub const ALL: &'static [Aim] = &[Aim::Speed, Aim::Size];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Aim::Speed => "speed",
            Aim::Size => "size",
        }
    }

    /// What one instruction more in the program is worth, in executed instructions of the average
    /// call.
    ///
    /// For speed it is not zero: code that is never executed still fills cache lines. At this price
    /// a default container profile gives up a tenth of an instruction for seven fewer in the
    /// program.
    pub(crate) const fn size_price(self) -> f64 {
        match self {
            Aim::Speed => 0.02,
            Aim::Size => 100.0,
        }
    }
}
