//! Sequences of functions of `libseccomp.so.2`, as a C program may call them in any order.

use std::ptr::null_mut;

use seccomp::abi::{
    ArgCmp, Handle, seccomp_arch_add, seccomp_arch_exist, seccomp_arch_remove, seccomp_attr_get,
    seccomp_attr_set, seccomp_export_bpf, seccomp_export_bpf_mem, seccomp_export_pfc, seccomp_init,
    seccomp_merge, seccomp_notify_fd, seccomp_precompute, seccomp_release, seccomp_reset,
    seccomp_rule_add_array, seccomp_rule_add_exact_array, seccomp_syscall_priority,
    seccomp_transaction_commit, seccomp_transaction_reject, seccomp_transaction_start,
};

use crate::bytes::Bytes;

/// The largest number of calls; each may compile a program.
const MAX_CALLS: usize = 64;
/// Error codes that the man pages have; `EBADF` comes from a closed descriptor with raw errors.
const CODES: [i32; 11] = [
    libc::EACCES,
    libc::ECANCELED,
    libc::EDOM,
    libc::EEXIST,
    libc::EFAULT,
    libc::EINVAL,
    libc::ENOENT,
    libc::EOPNOTSUPP,
    libc::ERANGE,
    libc::ESRCH,
    libc::EBADF,
];

/// Calls functions with arguments from the bytes: valid, released and null contexts, any constant and number.
///
/// # Panics
/// If a function returns an undocumented code, or a program of a size that is no number of instructions.
pub fn c_library(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let mut contexts: Vec<Handle> = vec![null_mut(), seccomp_init(action(&mut bytes))];
    for _ in 0..MAX_CALLS {
        if bytes.is_empty() {
            break;
        }
        let context = pick(&contexts, &mut bytes);
        let code = call(context, &mut contexts, &mut bytes);
        assert!(code >= 0 || CODES.contains(&-code), "undocumented code {code}");
    }
    for context in contexts {
        seccomp_release(context);
    }
}

fn call(context: Handle, contexts: &mut Vec<Handle>, bytes: &mut Bytes<'_>) -> i32 {
    match bytes.byte() % 20 {
        0 => {
            contexts.push(seccomp_init(action(bytes)));
            0
        }
        1 => {
            seccomp_release(context);
            0
        }
        2 if !context.is_null() => seccomp_reset(context, action(bytes)),
        3 => seccomp_merge(context, pick(contexts, bytes)),
        4 => seccomp_arch_add(context, arch(bytes)),
        5 => seccomp_arch_remove(context, arch(bytes)),
        6 => seccomp_arch_exist(context, arch(bytes)),
        7 => seccomp_attr_set(context, bytes.byte().into(), action(bytes)),
        8 => {
            let mut value = 0;
            // SAFETY: the pointer is valid.
            unsafe { seccomp_attr_get(context, bytes.byte().into(), &raw mut value) }
        }
        9 => seccomp_syscall_priority(context, number(bytes), bytes.byte()),
        10 => seccomp_transaction_start(context),
        11 => {
            seccomp_transaction_reject(context);
            0
        }
        12 => seccomp_transaction_commit(context),
        13 => export(context, usize::from(bytes.byte()) * 8),
        14 => seccomp_export_pfc(context, -1),
        15 => seccomp_export_bpf(context, -1).max(seccomp_notify_fd(context)),
        16 => seccomp_precompute(context),
        kind => {
            let (action, nr) = (action(bytes), number(bytes));
            let args: Vec<ArgCmp> = (0..bytes.byte() % 8).map(|_| arg(bytes)).collect();
            let (count, args) = (args.len() as u32, args.as_ptr());
            // SAFETY: the array has this length.
            unsafe {
                if kind == 17 {
                    seccomp_rule_add_exact_array(context, action, nr, count, args)
                } else {
                    seccomp_rule_add_array(context, action, nr, count, args)
                }
            }
        }
    }
}

/// Exports the program to a buffer of this size.
fn export(context: Handle, size: usize) -> i32 {
    let (mut buffer, mut len) = (vec![0_u8; size], size);
    // SAFETY: the buffer has this size.
    let code = unsafe { seccomp_export_bpf_mem(context, buffer.as_mut_ptr().cast(), &raw mut len) };
    assert!(code != 0 || len <= size && len % 8 == 0, "{len} bytes");
    code
}

fn pick(contexts: &[Handle], bytes: &mut Bytes<'_>) -> Handle {
    contexts.get(usize::from(bytes.byte()) % contexts.len()).copied().unwrap_or(null_mut())
}

fn action(bytes: &mut Bytes<'_>) -> u32 {
    const ACTIONS: [u32; 8] = [
        0,
        0x8000_0000,
        0x7fff_0000,
        0x7ffc_0000,
        0x7fc0_0000,
        0x0005_0001,
        0x0003_0000,
        0x7ff0_0001,
    ];
    match ACTIONS.get(usize::from(bytes.byte() % 9)) {
        Some(action) => *action,
        None => bytes.number() as u32,
    }
}

fn arch(bytes: &mut Bytes<'_>) -> u32 {
    const ARCHES: [u32; 7] =
        [0, 0xc000_003e, 0x4000_003e, 0x4000_0003, 0xc000_00b7, 0x8000_0016, 0x0000_0016];
    match ARCHES.get(usize::from(bytes.byte() % 8)) {
        Some(arch) => *arch,
        None => bytes.number() as u32,
    }
}

/// Mostly the number of a syscall, else a pseudo number or any number.
fn number(bytes: &mut Bytes<'_>) -> i32 {
    match bytes.byte() % 4 {
        0 | 1 => bytes.byte().into(),
        2 => -i32::from(bytes.byte()),
        _ => bytes.number() as i32,
    }
}

fn arg(bytes: &mut Bytes<'_>) -> ArgCmp {
    let (arg, op) = (bytes.byte() % 7, bytes.byte() % 9);
    ArgCmp::new(arg.into(), op.into(), bytes.number(), bytes.number())
}
