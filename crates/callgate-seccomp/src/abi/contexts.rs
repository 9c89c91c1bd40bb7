//! seccomp_init(3), seccomp_release(3), seccomp_merge(3).

use std::ptr::null_mut;

use callgate::Verdict;
use libc::c_int;

use super::call::{guarded, status};
use super::environment::instructions;
use super::registry::{self, Handle};
use crate::context::Context;
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
