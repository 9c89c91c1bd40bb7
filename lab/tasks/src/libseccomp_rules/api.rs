//! The functions of a library, found by name.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;

use callgate_profile_fuzz::rule::Op;

use super::sequence::Rule;
use callgate_tasks::Result;

/// `scmp_filter_ctx`.
type Handle = *mut c_void;

/// `struct scmp_arg_cmp`.
#[repr(C)]
struct ArgCmp {
    arg: c_uint,
    op: c_int,
    datum_a: u64,
    datum_b: u64,
}

/// A library that is loaded.
pub(super) struct Api {
    init: unsafe extern "C" fn(u32) -> Handle,
    release: unsafe extern "C" fn(Handle),
    merge: unsafe extern "C" fn(Handle, Handle) -> c_int,
    resolve_arch: unsafe extern "C" fn(*const c_char) -> u32,
    arch_add: unsafe extern "C" fn(Handle, u32) -> c_int,
    arch_remove: unsafe extern "C" fn(Handle, u32) -> c_int,
    attr_set: unsafe extern "C" fn(Handle, c_uint, u32) -> c_int,
    resolve_name: unsafe extern "C" fn(*const c_char) -> c_int,
    rule_add: unsafe extern "C" fn(Handle, u32, c_int, c_uint, *const ArgCmp) -> c_int,
    priority: unsafe extern "C" fn(Handle, c_int, u8) -> c_int,
    start: unsafe extern "C" fn(Handle) -> c_int,
    reject: unsafe extern "C" fn(Handle),
    commit: unsafe extern "C" fn(Handle) -> c_int,
    export: unsafe extern "C" fn(Handle, *mut c_void, *mut usize) -> c_int,
}

impl Api {
    /// Loads a library.
    pub(super) fn load(path: &Path) -> Result<Api> {
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| "the path of the library has a zero byte".to_owned())?;
        // SAFETY: the library is one that the user names; its initializers may run.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(format!("{}: cannot be loaded", path.display()));
        }
        macro_rules! function {
            ($name:literal) => {{
                let symbol = concat!("seccomp_", $name, "\0");
                // SAFETY: the handle is valid, and the name ends with a zero byte.
                let address = unsafe { libc::dlsym(library, symbol.as_ptr().cast()) };
                if address.is_null() {
                    return Err(format!("{}: no function seccomp_{}", path.display(), $name));
                }
                // SAFETY: the function has this type (seccomp.h of libseccomp).
                unsafe { std::mem::transmute_copy(&address) }
            }};
        }
        Ok(Api {
            init: function!("init"),
            release: function!("release"),
            merge: function!("merge"),
            resolve_arch: function!("arch_resolve_name"),
            arch_add: function!("arch_add"),
            arch_remove: function!("arch_remove"),
            attr_set: function!("attr_set"),
            resolve_name: function!("syscall_resolve_name"),
            rule_add: function!("rule_add_array"),
            priority: function!("syscall_priority"),
            start: function!("transaction_start"),
            reject: function!("transaction_reject"),
            commit: function!("transaction_commit"),
            export: function!("export_bpf_mem"),
        })
    }

    /// A new context.
    pub(super) fn context(&self, default: u32) -> Result<Context<'_>> {
        // SAFETY: no pointers.
        let handle = unsafe { (self.init)(default) };
        if handle.is_null() {
            return Err(format!("seccomp_init({default:#x}) failed"));
        }
        Ok(Context { api: self, handle })
    }

    fn token(&self, arch: &str) -> u32 {
        let name = c_string(arch);
        // SAFETY: it is a string.
        unsafe { (self.resolve_arch)(name.as_ptr()) }
    }
}

fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// A context of a library.
pub(super) struct Context<'a> {
    api: &'a Api,
    handle: Handle,
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: the context is no longer used.
        unsafe { (self.api.release)(self.handle) }
    }
}

// Each function is called with a context of its library.
impl Context<'_> {
    pub(super) fn add_arch(&self, arch: &str) -> c_int {
        // SAFETY: see above.
        unsafe { (self.api.arch_add)(self.handle, self.api.token(arch)) }
    }

    pub(super) fn remove_arch(&self, arch: &str) -> c_int {
        // SAFETY: see above.
        unsafe { (self.api.arch_remove)(self.handle, self.api.token(arch)) }
    }

    pub(super) fn set_attribute(&self, attribute: c_uint, value: u32) -> c_int {
        // SAFETY: see above.
        unsafe { (self.api.attr_set)(self.handle, attribute, value) }
    }

    pub(super) fn rule(&self, rule: &Rule) -> c_int {
        let name = c_string(rule.name);
        // SAFETY: it is a string.
        let nr = unsafe { (self.api.resolve_name)(name.as_ptr()) };
        let args: Vec<ArgCmp> = rule
            .comparisons
            .iter()
            .map(|test| {
                let (op, datum_a, datum_b) = match test.op {
                    Op::Ne => (1, test.datum, 0),
                    Op::Lt => (2, test.datum, 0),
                    Op::Le => (3, test.datum, 0),
                    Op::Eq => (4, test.datum, 0),
                    Op::Ge => (5, test.datum, 0),
                    Op::Gt => (6, test.datum, 0),
                    Op::MaskedEq => (7, test.mask, test.datum),
                };
                ArgCmp { arg: test.arg as c_uint, op, datum_a, datum_b }
            })
            .collect();
        let count = args.len() as c_uint;
        // SAFETY: see above; the array has this length.
        unsafe { (self.api.rule_add)(self.handle, rule.action, nr, count, args.as_ptr()) }
    }

    pub(super) fn prioritize(&self, name: &str, priority: u8) -> c_int {
        let name = c_string(name);
        // SAFETY: it is a string; see above.
        unsafe {
            (self.api.priority)(self.handle, (self.api.resolve_name)(name.as_ptr()), priority)
        }
    }

    pub(super) fn start(&self) -> c_int {
        // SAFETY: see above.
        unsafe { (self.api.start)(self.handle) }
    }

    pub(super) fn reject(&self) {
        // SAFETY: see above.
        unsafe { (self.api.reject)(self.handle) }
    }

    pub(super) fn commit(&self) -> c_int {
        // SAFETY: see above.
        unsafe { (self.api.commit)(self.handle) }
    }

    pub(super) fn merge(&self, other: Context<'_>) -> c_int {
        // SAFETY: both are contexts of the library.
        let result = unsafe { (self.api.merge)(self.handle, other.handle) };
        if result == 0 {
            // The library freed it.
            std::mem::forget(other);
        }
        result
    }

    /// The program, 8 bytes per instruction.
    pub(super) fn program(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0_u8; 1 << 19];
        let mut len = bytes.len();
        // SAFETY: the buffer has this length.
        let result =
            unsafe { (self.api.export)(self.handle, bytes.as_mut_ptr().cast(), &raw mut len) };
        if result != 0 {
            return Err(format!("seccomp_export_bpf_mem: {result}"));
        }
        bytes.truncate(len);
        Ok(bytes)
    }
}
