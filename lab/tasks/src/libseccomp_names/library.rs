//! The functions of a libseccomp that resolve names and numbers.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;

use callgate_tasks::Result;

/// `struct scmp_version`.
#[repr(C)]
struct Version {
    major: c_uint,
    minor: c_uint,
    micro: c_uint,
}

type GetVersion = unsafe extern "C" fn() -> *const Version;
type ResolveArch = unsafe extern "C" fn(*const c_char) -> u32;
type ResolveName = unsafe extern "C" fn(u32, *const c_char) -> c_int;
type ResolveNumber = unsafe extern "C" fn(u32, c_int) -> *mut c_char;

/// A library that is loaded.
pub(super) struct Library {
    version: GetVersion,
    resolve_arch: ResolveArch,
    number: ResolveName,
    rewritten: ResolveName,
    name: ResolveNumber,
}

/// What the library returns for an unknown name (`__NR_SCMP_ERROR`).
const ERROR: c_int = -1;

impl Library {
    pub(super) fn load(path: &Path) -> Result<Library> {
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| format!("{path:?} contains a zero byte"))?;
        // SAFETY: the initializers of the library run; the user names the library.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            // SAFETY: dlopen failed in this thread, so there is a message.
            let why = unsafe { CStr::from_ptr(libc::dlerror()) };
            return Err(why.to_string_lossy().into_owned());
        }
        macro_rules! function {
            ($name:literal as $type:ty) => {{
                // SAFETY: the handle is valid, and the name is a C string.
                let address = unsafe { libc::dlsym(library, $name.as_ptr()) };
                if address.is_null() {
                    return Err(format!("{}: missing function {:?}", path.display(), $name));
                }
                // SAFETY: seccomp.h declares the function with this type.
                unsafe { std::mem::transmute::<*mut c_void, $type>(address) }
            }};
        }
        Ok(Library {
            version: function!(c"seccomp_version" as GetVersion),
            resolve_arch: function!(c"seccomp_arch_resolve_name" as ResolveArch),
            number: function!(c"seccomp_syscall_resolve_name_arch" as ResolveName),
            rewritten: function!(c"seccomp_syscall_resolve_name_rewrite" as ResolveName),
            name: function!(c"seccomp_syscall_resolve_num_arch" as ResolveNumber),
        })
    }

    pub(super) fn version(&self) -> String {
        // SAFETY: the function has no arguments and returns a pointer to a constant.
        let version = unsafe { &*(self.version)() };
        format!("{}.{}.{}", version.major, version.minor, version.micro)
    }

    /// The token of an architecture, if the library has it.
    pub(super) fn token(&self, arch: &str) -> Option<u32> {
        let arch = CString::new(arch).ok()?;
        // SAFETY: the argument is a C string.
        let token = unsafe { (self.resolve_arch)(arch.as_ptr()) };
        (token != 0).then_some(token)
    }

    pub(super) fn number(&self, token: u32, name: &str) -> Option<i32> {
        let name = CString::new(name).ok()?;
        // SAFETY: the argument is a C string.
        let number = unsafe { (self.number)(token, name.as_ptr()) };
        (number != ERROR).then_some(number)
    }

    pub(super) fn rewritten(&self, token: u32, name: &str) -> Option<i32> {
        let name = CString::new(name).ok()?;
        // SAFETY: the argument is a C string.
        let number = unsafe { (self.rewritten)(token, name.as_ptr()) };
        (number != ERROR).then_some(number)
    }

    pub(super) fn name(&self, token: u32, number: i32) -> Option<String> {
        // SAFETY: the function accepts every token and number.
        let name = unsafe { (self.name)(token, number) };
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
}
