//! Contexts: seccomp_init(3), seccomp_release(3), seccomp_merge(3), seccomp_arch_add(3), seccomp_attr_set(3),
//! seccomp_transaction_start(3), seccomp_precompute(3).
//!
//! The environment variable `CALLGATE_SECCOMP_INSTRUCTIONS` selects the instructions of programs.
//!
//! `basic` restricts them to those that libseccomp's simulator `scmp_bpf_sim` executes. Any other value is ignored: the
//! meaning of a filter does not depend on the variable, so a filter must not fail because of it, and a library has no
//! place for a warning. Programs with set-user-ID, set-group-ID or file capabilities ignore the variable, because their
//! environment belongs to another user.

use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

use callgate::{Arch, Verdict};
use callgate_codegen::Instructions;
use libc::{c_int, c_uint};

use super::call::{guarded, on, status};
use super::registry::{self, Handle};
use crate::arch::{of_token, token};
use crate::context::{Attribute, Context};
use crate::error::Error;
use crate::kernel::load::close_listener;
use crate::kernel::support::SUPPORT;

/// A new context with a default action; null if the action is not supported.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_init(def_action: u32) -> Handle {
    guarded(null_mut(), || {
        // All that is asked later is asked now: a filter may forbid the questions.
        SUPPORT.level();
        let context = Context::new(Verdict(def_action), &SUPPORT);
        let context = context.map(|context| context.with_instructions(instructions()));
        context.and_then(registry::add).unwrap_or(null_mut())
    })
}

/// Makes a context new; with null, forgets what is known about the kernel, and closes the listener.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_reset(ctx: Handle, def_action: u32) -> c_int {
    status(|| {
        if ctx.is_null() {
            SUPPORT.reset();
            close_listener();
            SUPPORT.level();
            return Ok(());
        }
        registry::with_any(ctx, |context| context.reset(Verdict(def_action), &SUPPORT))
    })
}

/// Frees a context.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_release(ctx: Handle) {
    guarded((), || registry::remove(ctx));
}

/// Moves the architectures of the second context to the first, and frees the second.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_merge(ctx_dst: Handle, ctx_src: Handle) -> c_int {
    status(|| {
        registry::with_both(ctx_dst, ctx_src, Context::merge)?;
        registry::remove(ctx_src);
        Ok(())
    })
}

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

/// The constant of an architecture by its name; 0 if it is unknown.
///
/// # Safety
/// `arch_name` must be null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_arch_resolve_name(arch_name: *const c_char) -> u32 {
    if arch_name.is_null() {
        return 0;
    }
    // SAFETY: the caller promises it.
    let name = unsafe { CStr::from_ptr(arch_name) };
    guarded(0, || {
        let mut arches = Arch::ALL.iter();
        let arch = arches.find(|arch| arch.name().as_bytes() == name.to_bytes());
        arch.map_or(0, |arch| token(*arch))
    })
}

/// The constant of the native architecture.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_arch_native() -> u32 {
    guarded(0, || Arch::native().map_or(0, token))
}

/// 0 if a context has an architecture.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_arch_exist(ctx: Handle, arch_token: u32) -> c_int {
    status(|| {
        let arch = of_token(arch_token).ok_or(Error::Invalid)?;
        registry::with_any(
            ctx,
            |context| {
                if context.has_arch(arch) { Ok(()) } else { Err(Error::Exists) }
            },
        )
    })
}

/// Adds an architecture.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_arch_add(ctx: Handle, arch_token: u32) -> c_int {
    status(|| {
        let arch = of_token(arch_token).ok_or(Error::Invalid)?;
        registry::with_any(ctx, |context| context.add_arch(arch))
    })
}

/// Removes an architecture.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_arch_remove(ctx: Handle, arch_token: u32) -> c_int {
    status(|| {
        let arch = of_token(arch_token).ok_or(Error::Invalid)?;
        registry::with_any(ctx, |context| context.remove_arch(arch))
    })
}

/// Reads an attribute.
///
/// # Safety
/// `value` must be null or point to a `uint32_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_attr_get(ctx: Handle, attr: c_uint, value: *mut u32) -> c_int {
    status(|| {
        let read = registry::with(ctx, |context| {
            let attribute = Attribute::of(attr).ok_or(Error::Invalid)?;
            Ok(context.attributes().get(attribute))
        })?;
        if value.is_null() {
            return Err(Error::Invalid);
        }
        // SAFETY: the caller promises it.
        unsafe { value.write(read) };
        Ok(())
    })
}

/// Sets an attribute.
///
/// `SCMP_FLTATR_CTL_OPTIMIZE` selects the effort of the compiler: 1, the default, makes a good program in a short time, so
/// that building and loading a filter takes no longer than with libseccomp; 2 searches for the best program. Both are
/// proved equal to the rules.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_attr_set(ctx: Handle, attr: c_uint, value: u32) -> c_int {
    on(ctx, |context| {
        let attribute = Attribute::of(attr).ok_or(Error::Invalid)?;
        context.set(attribute, value, &SUPPORT)
    })
}

/// Starts a transaction.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_transaction_start(ctx: Handle) -> c_int {
    on(ctx, |context| {
        context.start_transaction();
        Ok(())
    })
}

/// Undoes all changes of rules and architectures since the innermost transaction began.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_transaction_reject(ctx: Handle) {
    // An invalid context has no transaction, and the function returns nothing.
    on(ctx, |context| {
        context.reject_transaction();
        Ok(())
    });
}

/// Ends the innermost transaction.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_transaction_commit(ctx: Handle) -> c_int {
    on(ctx, |context| {
        context.commit_transaction();
        Ok(())
    })
}

/// Compiles the filter, so that [`seccomp_load`](super::load::seccomp_load) allocates nothing.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_precompute(ctx: Handle) -> c_int {
    on(ctx, |context| context.program().map(drop))
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
