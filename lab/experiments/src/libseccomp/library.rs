//! The functions of a libseccomp, found by name.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// `scmp_filter_ctx`.
type Handle = *mut c_void;

/// `struct scmp_arg_cmp`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgCmp {
    /// The argument.
    pub arg: c_uint,
    /// `enum scmp_compare`: 1 to 7 are NE, LT, LE, EQ, GE, GT and MASKED_EQ.
    pub op: c_int,
    /// The value, or the mask of MASKED_EQ.
    pub datum_a: u64,
    /// The value under the mask.
    pub datum_b: u64,
}

/// `struct scmp_version`.
#[repr(C)]
struct Version {
    major: c_uint,
    minor: c_uint,
    micro: c_uint,
}

/// What the library returns for an unknown name (`__NR_SCMP_ERROR`).
const UNKNOWN: c_int = -1;

/// A text that is in the drop-in of this project, and in no other library: a variable that it reads.
const OURS: &[u8] = b"CALLGATE_SECCOMP_INSTRUCTIONS";

/// A library that is loaded.
pub struct Library {
    path: PathBuf,
    version: unsafe extern "C" fn() -> *const Version,
    arch_native: unsafe extern "C" fn() -> u32,
    init: unsafe extern "C" fn(u32) -> Handle,
    release: unsafe extern "C" fn(Handle),
    merge: unsafe extern "C" fn(Handle, Handle) -> c_int,
    resolve_arch: unsafe extern "C" fn(*const c_char) -> u32,
    arch_add: unsafe extern "C" fn(Handle, u32) -> c_int,
    arch_remove: unsafe extern "C" fn(Handle, u32) -> c_int,
    attr_set: unsafe extern "C" fn(Handle, c_uint, u32) -> c_int,
    resolve_name: unsafe extern "C" fn(*const c_char) -> c_int,
    resolve_name_arch: unsafe extern "C" fn(u32, *const c_char) -> c_int,
    resolve_name_rewrite: unsafe extern "C" fn(u32, *const c_char) -> c_int,
    resolve_num_arch: unsafe extern "C" fn(u32, c_int) -> *mut c_char,
    rule_add: unsafe extern "C" fn(Handle, u32, c_int, c_uint, *const ArgCmp) -> c_int,
    priority: unsafe extern "C" fn(Handle, c_int, u8) -> c_int,
    export: unsafe extern "C" fn(Handle, c_int) -> c_int,
    export_text: unsafe extern "C" fn(Handle, c_int) -> c_int,
    // Since libseccomp 2.6.
    start: Option<unsafe extern "C" fn(Handle) -> c_int>,
    reject: Option<unsafe extern "C" fn(Handle)>,
    commit: Option<unsafe extern "C" fn(Handle) -> c_int>,
    export_to_memory: Option<unsafe extern "C" fn(Handle, *mut c_void, *mut usize) -> c_int>,
}

impl Library {
    /// Loads a library: a path, or a name for the dynamic linker.
    ///
    /// # Errors
    /// If it cannot be loaded, or lacks a function that libseccomp 2.5 has.
    pub fn load(path: &Path) -> Result<Library, String> {
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| "the path of the library has a zero byte".to_owned())?;
        // SAFETY: the library is one that the user names; its initializers may run.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            // SAFETY: dlopen failed in this thread, so there is a message.
            let why = unsafe { CStr::from_ptr(libc::dlerror()) };
            return Err(why.to_string_lossy().into_owned());
        }
        let address = |name: &CStr| {
            // SAFETY: the handle is valid, and the name is a C string.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        let missing = |name: &CStr| format!("{}: missing function {name:?}", path.display());
        macro_rules! optional {
            ($name:literal) => {
                // SAFETY: the function has this type (seccomp.h of libseccomp).
                address($name).map(|address| unsafe { std::mem::transmute_copy(&address) })
            };
        }
        macro_rules! function {
            ($name:literal) => {
                optional!($name).ok_or_else(|| missing($name))?
            };
        }
        let init = address(c"seccomp_init").ok_or_else(|| missing(c"seccomp_init"))?;
        Ok(Library {
            path: file_of(init).unwrap_or_else(|| path.to_owned()),
            version: function!(c"seccomp_version"),
            arch_native: function!(c"seccomp_arch_native"),
            init: function!(c"seccomp_init"),
            release: function!(c"seccomp_release"),
            merge: function!(c"seccomp_merge"),
            resolve_arch: function!(c"seccomp_arch_resolve_name"),
            arch_add: function!(c"seccomp_arch_add"),
            arch_remove: function!(c"seccomp_arch_remove"),
            attr_set: function!(c"seccomp_attr_set"),
            resolve_name: function!(c"seccomp_syscall_resolve_name"),
            resolve_name_arch: function!(c"seccomp_syscall_resolve_name_arch"),
            resolve_name_rewrite: function!(c"seccomp_syscall_resolve_name_rewrite"),
            resolve_num_arch: function!(c"seccomp_syscall_resolve_num_arch"),
            rule_add: function!(c"seccomp_rule_add_array"),
            priority: function!(c"seccomp_syscall_priority"),
            export: function!(c"seccomp_export_bpf"),
            export_text: function!(c"seccomp_export_pfc"),
            start: optional!(c"seccomp_transaction_start"),
            reject: optional!(c"seccomp_transaction_reject"),
            commit: optional!(c"seccomp_transaction_commit"),
            export_to_memory: optional!(c"seccomp_export_bpf_mem"),
        })
    }

    /// The version that it claims, such as 2.5.4.
    pub fn version(&self) -> String {
        // SAFETY: the function has no arguments and returns a pointer to a constant.
        let version = unsafe { &*(self.version)() };
        format!("{}.{}.{}", version.major, version.minor, version.micro)
    }

    /// The file that was loaded, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is the drop-in of this project.
    ///
    /// # Errors
    /// If its file cannot be read.
    pub fn is_ours(&self) -> Result<bool, String> {
        let bytes = std::fs::read(&self.path)
            .map_err(|error| format!("{}: {error}", self.path.display()))?;
        Ok(bytes.windows(OURS.len()).any(|part| part == OURS))
    }

    /// The token of this machine's architecture.
    pub fn native(&self) -> u32 {
        // SAFETY: no arguments.
        unsafe { (self.arch_native)() }
    }

    /// The number of a syscall on an architecture, if the library knows its name.
    pub fn number(&self, token: u32, name: &str) -> Option<i32> {
        let name = CString::new(name).ok()?;
        // SAFETY: the argument is a C string.
        let number = unsafe { (self.resolve_name_arch)(token, name.as_ptr()) };
        (number != UNKNOWN).then_some(number)
    }

    /// The same with the numbers of `socketcall` and `ipc`.
    pub fn rewritten(&self, token: u32, name: &str) -> Option<i32> {
        let name = CString::new(name).ok()?;
        // SAFETY: the argument is a C string.
        let number = unsafe { (self.resolve_name_rewrite)(token, name.as_ptr()) };
        (number != UNKNOWN).then_some(number)
    }

    /// The number of a syscall on this machine, or its pseudo number.
    pub fn number_here(&self, name: &str) -> c_int {
        let name = c_string(name);
        // SAFETY: it is a string.
        unsafe { (self.resolve_name)(name.as_ptr()) }
    }

    /// The name of a number on an architecture.
    pub fn name(&self, token: u32, number: i32) -> Option<String> {
        // SAFETY: the function accepts every token and number.
        let name = unsafe { (self.resolve_num_arch)(token, number) };
        if name.is_null() {
            return None;
        }
        // SAFETY: the result is a C string, allocated by `malloc`; it is not used after `free`.
        unsafe {
            let text = CStr::from_ptr(name).to_string_lossy().into_owned();
            libc::free(name.cast());
            Some(text)
        }
    }

    /// A new context with the architecture of this machine.
    ///
    /// # Errors
    /// If the default action is not one.
    pub fn context(&self, default: u32) -> Result<Context<'_>, String> {
        // SAFETY: no pointers.
        let handle = unsafe { (self.init)(default) };
        if handle.is_null() {
            return Err(format!("seccomp_init({default:#x}) failed"));
        }
        Ok(Context { library: self, handle })
    }

    /// The token of an architecture, if the library has it.
    pub fn token(&self, arch: &str) -> Option<u32> {
        let name = c_string(arch);
        // SAFETY: it is a string.
        let token = unsafe { (self.resolve_arch)(name.as_ptr()) };
        (token != 0).then_some(token)
    }
}

/// The file that contains this address.
fn file_of(address: *mut c_void) -> Option<PathBuf> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr accepts every address, and `found` is valid for writes.
    let is_found = unsafe { libc::dladdr(address, found.as_mut_ptr()) } != 0;
    // SAFETY: zeros are a valid value, and so is what dladdr wrote.
    let found = unsafe { found.assume_init() };
    if !is_found || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name of a loaded file is a C string.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    std::fs::canonicalize(name.to_str().ok()?).ok()
}

fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// What the functions of transactions return if the library lacks them.
const MISSING: c_int = -libc::ENOSYS;

/// A context of a library.
pub struct Context<'a> {
    library: &'a Library,
    handle: Handle,
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: the context is no longer used.
        unsafe { (self.library.release)(self.handle) }
    }
}

// Each function is called with a context of its library.
impl Context<'_> {
    /// The library that made it.
    pub fn library(&self) -> &Library {
        self.library
    }

    /// `seccomp_arch_add`.
    pub fn add_arch(&self, arch: &str) -> c_int {
        // SAFETY: see above.
        unsafe { (self.library.arch_add)(self.handle, self.library.token(arch).unwrap_or(0)) }
    }

    /// `seccomp_arch_remove`.
    pub fn remove_arch(&self, arch: &str) -> c_int {
        // SAFETY: see above.
        unsafe { (self.library.arch_remove)(self.handle, self.library.token(arch).unwrap_or(0)) }
    }

    /// `seccomp_arch_remove` with `SCMP_ARCH_NATIVE`.
    pub fn remove_native(&self) -> c_int {
        const NATIVE: u32 = 0;
        // SAFETY: see above.
        unsafe { (self.library.arch_remove)(self.handle, NATIVE) }
    }

    /// `seccomp_attr_set`.
    pub fn set_attribute(&self, attribute: c_uint, value: u32) -> c_int {
        // SAFETY: see above.
        unsafe { (self.library.attr_set)(self.handle, attribute, value) }
    }

    /// `seccomp_rule_add_array`.
    pub fn rule(&self, action: u32, number: c_int, comparisons: &[ArgCmp]) -> c_int {
        let count = comparisons.len() as c_uint;
        // SAFETY: see above; the array has this length.
        unsafe { (self.library.rule_add)(self.handle, action, number, count, comparisons.as_ptr()) }
    }

    /// `seccomp_syscall_priority`.
    pub fn prioritize(&self, name: &str, priority: u8) -> c_int {
        let number = self.library.number_here(name);
        // SAFETY: see above.
        unsafe { (self.library.priority)(self.handle, number, priority) }
    }

    /// `seccomp_transaction_start`; an error before libseccomp 2.6, as the others of transactions.
    pub fn start(&self) -> c_int {
        // SAFETY: see above.
        self.library.start.map_or(MISSING, |start| unsafe { start(self.handle) })
    }

    /// `seccomp_transaction_reject`.
    pub fn reject(&self) {
        if let Some(reject) = self.library.reject {
            // SAFETY: see above.
            unsafe { reject(self.handle) }
        }
    }

    /// `seccomp_transaction_commit`.
    pub fn commit(&self) -> c_int {
        // SAFETY: see above.
        self.library.commit.map_or(MISSING, |commit| unsafe { commit(self.handle) })
    }

    /// `seccomp_merge`.
    pub fn merge(&self, other: Context<'_>) -> c_int {
        // SAFETY: both are contexts of the library.
        let result = unsafe { (self.library.merge)(self.handle, other.handle) };
        if result == 0 {
            // The library freed it.
            std::mem::forget(other);
        }
        result
    }

    /// The program, 8 bytes per instruction.
    ///
    /// # Errors
    /// If the library cannot generate it.
    pub fn program(&self) -> Result<Vec<u8>, String> {
        let Some(export) = self.library.export_to_memory else {
            // All versions have this function.
            return self.by_file("seccomp_export_bpf", self.library.export);
        };
        let mut bytes = vec![0_u8; 1 << 19];
        let mut len = bytes.len();
        // SAFETY: see above; the buffer has this length.
        let result = unsafe { export(self.handle, bytes.as_mut_ptr().cast(), &raw mut len) };
        if result != 0 {
            return Err(format!("seccomp_export_bpf_mem: {result}"));
        }
        bytes.truncate(len);
        Ok(bytes)
    }

    /// The rules as pseudo filter code.
    ///
    /// # Errors
    /// If the library cannot write it.
    pub fn text(&self) -> Result<String, String> {
        let bytes = self.by_file("seccomp_export_pfc", self.library.export_text)?;
        String::from_utf8(bytes).map_err(|error| format!("seccomp_export_pfc: {error}"))
    }

    /// What a function writes into a file.
    fn by_file(
        &self,
        name: &str,
        export: unsafe extern "C" fn(Handle, c_int) -> c_int,
    ) -> Result<Vec<u8>, String> {
        let failed = |error: std::io::Error| format!("a file in memory: {error}");
        // SAFETY: the name is a C string.
        let file = unsafe { libc::memfd_create(c"export".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(failed(std::io::Error::last_os_error()));
        }
        // SAFETY: the descriptor is new.
        let mut file = File::from(unsafe { OwnedFd::from_raw_fd(file) });
        // SAFETY: see above; the descriptor is open.
        let result = unsafe { export(self.handle, file.as_raw_fd()) };
        if result != 0 {
            return Err(format!("{name}: {result}"));
        }
        let mut bytes = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(failed)?;
        Ok(bytes)
    }
}
