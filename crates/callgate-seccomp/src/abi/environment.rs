//! The environment variable `CALLGATE_SECCOMP_INSTRUCTIONS`, which selects the instructions of programs.
//!
//! `basic` restricts them to those that libseccomp's simulator `scmp_bpf_sim` executes. Any other value is ignored: the
//! meaning of a filter does not depend on the variable, so a filter must not fail because of it, and a library has no
//! place for a warning. Programs with set-user-ID, set-group-ID or file capabilities ignore the variable, because their
//! environment belongs to another user.

use std::ffi::{CStr, c_char};

use callgate_codegen::Instructions;

const NAME: &CStr = c"CALLGATE_SECCOMP_INSTRUCTIONS";

unsafe extern "C" {
    /// As getenv(3), but null if `AT_SECURE` is set.
    fn secure_getenv(name: *const c_char) -> *const c_char;

    /// See environ(7). setenv(3) changes it.
    static mut environ: *const *const c_char;
}

/// The instructions that the environment selects.
pub(super) fn instructions() -> Instructions {
    // SAFETY: that is the list of the process, and nothing changes it meanwhile, as POSIX requires for getenv(3).
    if !unsafe { has_name(environ) } {
        return Instructions::default();
    }
    // SAFETY: the name ends with a zero byte.
    let value = unsafe { secure_getenv(NAME.as_ptr()) };
    if value.is_null() {
        return Instructions::default();
    }
    // SAFETY: the value ends with a zero byte, and nothing changes the environment until it has been compared, as
    // getenv(3) requires of the program.
    selected(unsafe { CStr::from_ptr(value) })
}

/// Whether a variable of an environment may have the name. Calling getenv(3) would cost a page fault: nothing else here needs
/// its page.
///
/// # Safety
/// The environment must be null, or have strings, and a null pointer after them.
unsafe fn has_name(mut environment: *const *const c_char) -> bool {
    if environment.is_null() {
        return false;
    }
    loop {
        // SAFETY: the last pointer is null.
        let variable = unsafe { *environment };
        if variable.is_null() {
            return false;
        }
        // SAFETY: each byte that is read comes after bytes of the name, none of which is zero.
        let byte = |at: usize| unsafe { *variable.add(at) } as u8;
        if NAME.to_bytes().iter().enumerate().all(|(at, of_name)| byte(at) == *of_name) {
            return true;
        }
        // SAFETY: this was not the last one.
        environment = unsafe { environment.add(1) };
    }
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
    fn a_variable_is_found_by_its_name() {
        let has = |variables: &[&CStr]| {
            let pointers = variables.iter().map(|variable| variable.as_ptr());
            let pointers: Vec<*const c_char> = pointers.chain([std::ptr::null()]).collect();
            // SAFETY: the last pointer is null, and the strings live longer.
            unsafe { has_name(pointers.as_ptr()) }
        };
        let selected = c"CALLGATE_SECCOMP_INSTRUCTIONS=basic";
        assert!(has(&[selected]));
        assert!(has(&[c"", c"PATH=/bin", selected]));
        assert!(!has(&[]));
        assert!(!has(&[c"", c"CALLGATE", c"CALLGATE_SECCOMP_INSTRUCTION=basic", c"_=CALLGATE"]));
        // SAFETY: null is permitted.
        assert!(!unsafe { has_name(std::ptr::null()) });
    }

    #[test]
    fn only_known_values_select_instructions() {
        assert_eq!(selected(c"basic"), Instructions::Basic);
        for value in [c"all", c"", c"Basic", c"basic ", c"1", c"\xff"] {
            assert_eq!(selected(value), Instructions::All, "{value:?}");
        }
    }
}
