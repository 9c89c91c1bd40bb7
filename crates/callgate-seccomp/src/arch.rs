//! The constants `SCMP_ARCH_*`, and the native architecture.

use std::sync::atomic::{AtomicUsize, Ordering};

use callgate::Arch;

/// `SCMP_ARCH_X32`. All other constants are the arch tokens of the kernel; x32 shares that of x86-64, so libseccomp clears
/// the bit for 64-bit ABIs (`__AUDIT_ARCH_64BIT`).
const X32: u32 = 0x4000_003e;

/// The native architecture, which is looked up once: every rule needs it. Without a lock: a child of fork(2) might wait forever
/// for a thread of its parent.
pub(crate) fn native() -> Option<Arch> {
    /// Its place among all, from 1 on; 0 while it is unknown.
    static NATIVE: AtomicUsize = AtomicUsize::new(0);
    let known = NATIVE.load(Ordering::Relaxed).checked_sub(1).and_then(|at| Arch::ALL.get(at));
    known.copied().or_else(|| {
        let native = Arch::native()?;
        let at = Arch::ALL.iter().position(|arch| *arch == native)?;
        NATIVE.store(at + 1, Ordering::Relaxed);
        Some(native)
    })
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
        // The second time, it is known.
        assert_eq!([of_token(0), of_token(0)], [Arch::native(); 2]);
        assert_eq!(of_token(7), None);
    }
}
