//! The constants `SCMP_ARCH_*`, and the native architecture.

use std::sync::OnceLock;

use callgate::Arch;

/// `SCMP_ARCH_X32`. All other constants are the arch tokens of the kernel; x32 shares that of x86-64, so libseccomp clears
/// the bit for 64-bit ABIs (`__AUDIT_ARCH_64BIT`).
const X32: u32 = 0x4000_003e;

/// The native architecture, which is looked up once: every rule needs it.
pub(crate) fn native() -> Option<Arch> {
    static NATIVE: OnceLock<Option<Arch>> = OnceLock::new();
    *NATIVE.get_or_init(Arch::native)
}

/// The constant of an architecture.
pub(crate) fn token(arch: Arch) -> u32 {
    match arch {
        Arch::X32 => X32,
        other => other.token(),
    }
}

/// The architecture of a constant; 0 is the native one. `None` for an unknown constant.
pub(crate) fn of_token(given: u32) -> Option<Arch> {
    match given {
        0 => native(),
        _ => Arch::ALL.iter().copied().find(|arch| token(*arch) == given),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_constant_has_one_architecture() {
        for arch in Arch::ALL {
            assert_eq!(of_token(token(*arch)), Some(*arch));
        }
        assert_eq!(of_token(0), Arch::native());
        assert_eq!(of_token(7), None);
    }
}
