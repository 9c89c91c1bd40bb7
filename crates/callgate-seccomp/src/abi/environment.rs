//! The environment variable `CALLGATE_SECCOMP_INSTRUCTIONS`, which selects the instructions of programs.
//!
//! `basic` restricts them to those that libseccomp's simulator `scmp_bpf_sim` executes. Any other value is ignored: the
//! meaning of a filter does not depend on the variable, so a filter must not fail because of it, and a library has no
//! place for a warning. Programs with set-user-ID, set-group-ID or file capabilities ignore the variable, because their
//! environment belongs to another user.

use std::ffi::{CStr, c_char};

use callgate::codegen::Instructions;

const NAME: &CStr = c"CALLGATE_SECCOMP_INSTRUCTIONS";

unsafe extern "C" {
    /// As getenv(3), but null if `AT_SECURE` is set.
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

/// The instructions that the environment selects.
pub(super) fn instructions() -> Instructions {
    // SAFETY: the name ends with a zero byte.
    let value = unsafe { secure_getenv(NAME.as_ptr()) };
    if value.is_null() {
        return Instructions::default();
    }
    // SAFETY: the value ends with a zero byte, and nothing changes the environment until it has been compared, as
    // getenv(3) requires of the program.
    selected(unsafe { CStr::from_ptr(value) })
}

/// The instructions that a value selects.
fn selected(value: &CStr) -> Instructions {
    let is_named = |set: &&Instructions| set.name().as_bytes() == value.to_bytes();
    Instructions::ALL.iter().find(is_named).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_values_select_instructions() {
        assert_eq!(selected(c"basic"), Instructions::Basic);
        for value in [c"all", c"", c"Basic", c"basic ", c"1", c"\xff"] {
            assert_eq!(selected(value), Instructions::All, "{value:?}");
        }
    }
}
