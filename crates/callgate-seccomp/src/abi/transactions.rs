//! seccomp_transaction_start(3), seccomp_precompute(3).

use libc::c_int;

use super::call::{guarded, status};
use super::registry::{self, Handle};

/// Starts a transaction.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_transaction_start(ctx: Handle) -> c_int {
    status(|| {
        registry::with(ctx, |context| {
            context.start_transaction();
            Ok(())
        })
    })
}

/// Undoes all changes of rules and architectures since the innermost transaction began.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_transaction_reject(ctx: Handle) {
    guarded((), || {
        // An invalid context has no transaction, and the function returns nothing.
        let _ = registry::with(ctx, |context| {
            context.reject_transaction();
            Ok(())
        });
    });
}

/// Ends the innermost transaction.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_transaction_commit(ctx: Handle) -> c_int {
    status(|| {
        registry::with(ctx, |context| {
            context.commit_transaction();
            Ok(())
        })
    })
}

/// Compiles the filter, so that [`seccomp_load`](super::load::seccomp_load) allocates nothing.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_precompute(ctx: Handle) -> c_int {
    status(|| registry::with(ctx, |context| context.program().map(drop)))
}
