//! Tests of the functions as a C program calls them.

use std::io::Read;
use std::process::{Child, ExitStatus, Stdio};
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use libc::c_int;

use super::*;

const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0001;

/// A context that is released at the end.
struct Context(Handle);

impl Context {
    fn new(default: u32) -> Context {
        let handle = seccomp_init(default);
        assert!(!handle.is_null());
        Context(handle)
    }

    fn rule(&self, action: u32, nr: c_int, args: &[ArgCmp]) -> c_int {
        let count = args.len().try_into().unwrap();
        // SAFETY: the array has this length.
        unsafe { seccomp_rule_add_array(self.0, action, nr, count, args.as_ptr()) }
    }

    fn size(&self) -> usize {
        let mut len = 0;
        // SAFETY: there is no buffer.
        assert_eq!(unsafe { seccomp_export_bpf_mem(self.0, null_mut(), &raw mut len) }, 0);
        len
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        seccomp_release(self.0);
    }
}

#[test]
fn invalid_contexts_are_refused() {
    let released = seccomp_init(ALLOW);
    seccomp_release(released);
    seccomp_release(released);
    for handle in [null_mut(), released, 0x1234_usize as Handle] {
        assert_eq!(seccomp_load(handle), -libc::EINVAL);
        assert_eq!(seccomp_precompute(handle), -libc::EINVAL);
        assert_eq!(seccomp_arch_add(handle, 0), -libc::EINVAL);
        assert_eq!(seccomp_attr_set(handle, 3, 0), -libc::EINVAL);
        assert_eq!(seccomp_export_pfc(handle, 1), -libc::EINVAL);
        assert_eq!(seccomp_transaction_start(handle), -libc::EINVAL);
        assert_eq!(seccomp_merge(handle, handle), -libc::EINVAL);
        seccomp_transaction_reject(handle);
        seccomp_release(handle);
        // SAFETY: there are no comparisons.
        assert_eq!(unsafe { seccomp_rule_add_array(handle, ERRNO, 1, 0, null()) }, -libc::EINVAL);
    }
    assert!(seccomp_init(7).is_null());
}

#[test]
fn invalid_rules_are_refused() {
    let context = Context::new(ALLOW);
    let eq = |arg| ArgCmp::new(arg, 4, 1, 0);
    let seven: Vec<ArgCmp> = (0..7).map(eq).collect();
    assert_eq!(context.rule(ERRNO, 1, &seven), -libc::EINVAL);
    assert_eq!(context.rule(ERRNO, 1, &[eq(6)]), -libc::EINVAL);
    assert_eq!(context.rule(ERRNO, 1, &[eq(0), eq(0)]), -libc::EINVAL);
    assert_eq!(context.rule(ERRNO, 1, &[ArgCmp::new(0, 8, 0, 0)]), -libc::EINVAL);
    assert_eq!(context.rule(ERRNO, 1, &[ArgCmp::new(0, 0, 0, 0)]), -libc::EINVAL);
    assert_eq!(context.rule(ERRNO, -1, &[]), -libc::EINVAL);
    assert_eq!(context.rule(ERRNO, -99, &[]), -libc::EINVAL);
    assert_eq!(context.rule(ALLOW, 1, &[]), -libc::EACCES);
    assert_eq!(context.rule(7, 1, &[]), -libc::EINVAL);
    // SAFETY: a null pointer is refused.
    let result = unsafe { seccomp_rule_add_array(context.0, ERRNO, 1, 1, null()) };
    assert_eq!(result, -libc::EINVAL);
    assert_eq!(context.rule(ERRNO, 1, &[eq(0), eq(5)]), 0);
}

#[test]
fn a_program_is_exported_to_memory() {
    let context = Context::new(ERRNO);
    assert_eq!(context.rule(ALLOW, 1, &[]), 0);
    let size = context.size();
    let mut buffer = vec![0_u8; size];
    let mut short = size - 1;
    let buffer_start = buffer.as_mut_ptr().cast();
    // SAFETY: the buffer is longer than that.
    let result = unsafe { seccomp_export_bpf_mem(context.0, buffer_start, &raw mut short) };
    assert_eq!((result, short), (-libc::ERANGE, size));
    // SAFETY: the buffer has this length.
    assert_eq!(unsafe { seccomp_export_bpf_mem(context.0, buffer_start, &raw mut short) }, 0);
    assert_ne!(buffer, vec![0_u8; size]);
    // SAFETY: null pointers are refused.
    let result = unsafe { seccomp_export_bpf_mem(context.0, null_mut(), null_mut()) };
    assert_eq!(result, -libc::EINVAL);
}

#[test]
fn a_closed_descriptor_is_an_error_of_the_kernel() {
    let context = Context::new(ERRNO);
    assert_eq!(seccomp_export_bpf(context.0, -1), -libc::ECANCELED);
    assert_eq!(seccomp_attr_set(context.0, 9, 1), 0);
    assert_eq!(seccomp_export_bpf(context.0, -1), -libc::EBADF);
    assert_eq!(seccomp_export_pfc(context.0, -1), -libc::EBADF);
}

#[test]
fn attributes_are_read_back() {
    let context = Context::new(ERRNO);
    for (attribute, default, value, result) in [
        (0, None, 0, -libc::EINVAL),
        (1, Some(ERRNO), ALLOW, -libc::EACCES),
        (2, Some(0), ALLOW, 0),
        (2, Some(ALLOW), 7, -libc::EINVAL),
        (3, Some(1), 0, 0),
        (5, Some(0), 5, 0),
        (8, Some(1), 2, 0),
        (8, Some(2), 0, -libc::EOPNOTSUPP),
        (9, Some(0), 1, 0),
        (10, Some(0), 1, 0),
        (11, None, 0, -libc::EINVAL),
    ] {
        let mut read = 77;
        // SAFETY: the pointer is valid.
        let found = unsafe { seccomp_attr_get(context.0, attribute, &raw mut read) };
        assert_eq!((found == 0).then_some(read), default, "{attribute}");
        assert_eq!(seccomp_attr_set(context.0, attribute, value), result, "{attribute}");
    }
}

#[test]
fn a_context_without_architecture_is_invalid_until_it_gets_one() {
    let context = Context::new(ERRNO);
    assert_eq!(seccomp_arch_remove(context.0, 0), 0);
    assert_eq!(seccomp_arch_remove(context.0, 0), -libc::EEXIST);
    assert_eq!(context.rule(ALLOW, 1, &[]), -libc::EINVAL);
    assert_eq!(seccomp_arch_add(context.0, 7), -libc::EINVAL);
    // MIPS and s390x have one byte order, x86 another.
    assert_eq!(seccomp_arch_add(context.0, 0x8000_0016), 0);
    assert_eq!(seccomp_arch_add(context.0, 0x4000_0003), -libc::EDOM);
    assert_eq!(seccomp_arch_add(context.0, 0x8000_0016), -libc::EEXIST);
    assert_eq!(seccomp_arch_exist(context.0, 0x8000_0016), 0);
    assert_eq!(seccomp_arch_exist(context.0, 0), -libc::EEXIST);
}

#[test]
fn exact_rules_need_one_architecture() {
    let context = Context::new(ERRNO);
    let add = || {
        // SAFETY: there are no comparisons.
        unsafe { seccomp_rule_add_exact_array(context.0, ALLOW, 1, 0, null()) }
    };
    assert_eq!(add(), 0);
    let other = if cfg!(target_arch = "x86_64") { 0x4000_0003 } else { 0xc000_00f3 };
    assert_eq!(seccomp_arch_add(context.0, other), 0);
    assert_eq!(add(), -libc::EOPNOTSUPP);
}

#[test]
fn contexts_need_no_random_numbers() {
    // The filter is for this thread and those that it starts.
    let confined = std::thread::spawn(|| {
        let context = Context::new(ALLOW);
        for name in [c"getrandom", c"openat"] {
            // SAFETY: a string that ends with NUL.
            let nr = unsafe { seccomp_syscall_resolve_name(name.as_ptr()) };
            assert_eq!(context.rule(ERRNO, nr, &[]), 0);
        }
        assert_eq!(seccomp_load(context.0), 0);
        std::fs::File::open("/dev/urandom").unwrap_err();
        // Another thread: the standard library reads random numbers once per thread.
        let other = std::thread::spawn(|| {
            let context = Context::new(ERRNO);
            assert_eq!(context.rule(ALLOW, 1, &[ArgCmp::new(0, 4, 1, 0)]), 0);
            assert_eq!(context.rule(ALLOW, 1, &[ArgCmp::new(0, 4, 2, 0)]), 0);
            assert!(context.size() > 0);
        });
        other.join().unwrap();
    });
    confined.join().unwrap();
}

/// `struct seccomp_notif_addfd`.
#[repr(C)]
struct AddFd {
    id: u64,
    flags: u32,
    source: u32,
    number: u32,
    number_flags: u32,
}

#[test]
fn a_supervisor_adds_a_descriptor_to_the_process_whose_syscall_waits() {
    const NOTIFY: u32 = 0x7fc0_0000;
    let bad = AddFd { id: 0, flags: 0, source: 0, number: 0, number_flags: 0 };
    let add = |listener, request: &AddFd| {
        // SAFETY: the request is one.
        unsafe { seccomp_notify_addfd(listener, (&raw const *request).cast_mut().cast()) }
    };
    assert_eq!(add(-1, &bad), -libc::ECANCELED);

    let (loaded, is_loaded) = std::sync::mpsc::channel();
    // The filter is for this thread, whose descriptors are those of the process.
    let waiting = std::thread::spawn(move || {
        let context = Context::new(ALLOW);
        assert_eq!(context.rule(NOTIFY, libc::SYS_getppid as c_int, &[]), 0);
        let result = seccomp_load(context.0);
        loaded.send(seccomp_notify_fd(context.0)).unwrap();
        assert_eq!(result, 0);
        // SAFETY: no arguments.
        unsafe { libc::syscall(libc::SYS_getppid) }
    });
    let listener = is_loaded.recv().unwrap();
    assert!(listener > 0);
    let (mut request, mut response) = (null_mut(), null_mut());
    // SAFETY: both pointers are valid.
    assert_eq!(unsafe { seccomp_notify_alloc(&raw mut request, &raw mut response) }, 0);
    // SAFETY: the request has the size of the kernel.
    assert_eq!(unsafe { seccomp_notify_receive(listener, request) }, 0);
    // SAFETY: its first member is the identity.
    let id = unsafe { request.cast::<u64>().read() };
    assert_eq!(add(listener, &AddFd { id, flags: 1 << 31, ..bad }), -libc::EOPNOTSUPP);
    assert_eq!(add(listener, &AddFd { id: id + 1, ..bad }), -libc::ECANCELED);
    let file = std::env::current_exe().and_then(std::fs::File::open).unwrap();
    let source = std::os::fd::AsRawFd::as_raw_fd(&file) as u32;
    let added = add(listener, &AddFd { id, source, ..bad });
    assert!(added > 0 && added as u32 != source, "{added}");
    // SAFETY: identity and value are the first members of a response of the size of the kernel; the rest is 0.
    unsafe {
        response.cast::<u64>().write(id);
        response.cast::<i64>().add(1).write(added.into());
    }
    // SAFETY: as above.
    assert_eq!(unsafe { seccomp_notify_respond(listener, response) }, 0);
    assert_eq!(waiting.join().unwrap(), i64::from(added));
    let identity = |fd: c_int| {
        let path = std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap();
        path.into_os_string()
    };
    assert_eq!(identity(added), identity(source as c_int));
    // SAFETY: both are from the library, and nothing else has the descriptor.
    unsafe {
        seccomp_notify_free(request, response);
        libc::close(added);
    }
    crate::kernel::load::close_listener();
}

/// In the environment of a child of these tests.
const CHILD: &str = "CALLGATE_TEST_CHILD";

/// The time limit of a child.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test of a program in a child with a value of the variable, and returns whether its program is basic.
fn child_is_basic(program: &std::path::Path, test: &str, value: Option<&str>) -> bool {
    let mut child = std::process::Command::new(program);
    child.args(["--include-ignored", "--exact", "--nocapture", &format!("abi::tests::{test}")]);
    child.env(CHILD, "1").env_remove("CALLGATE_SECCOMP_INSTRUCTIONS");
    child.envs(value.map(|value| ("CALLGATE_SECCOMP_INSTRUCTIONS", value)));
    let mut child = child.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let status = ended(&mut child);
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let answers = ["basic", "other"].map(|answer| text.contains(&format!("program: {answer}\n")));
    assert!(answers[0] != answers[1] && status.success(), "{text}");
    answers[0]
}

/// Waits for a child that prints little; kills it after [`PATIENCE`].
fn ended(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the child did not end within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Prints whether the program of a rule with a mask contains instructions that are not basic.
fn print_whether_basic() {
    use callgate_codegen::Instructions;
    let context = Context::new(ERRNO);
    assert_eq!(seccomp_reset(context.0, ERRNO), 0);
    // Bits 1 and 2 of the first argument are clear.
    assert_eq!(context.rule(ALLOW, 1, &[ArgCmp::new(0, 7, 6, 0)]), 0);
    let mut bytes = vec![0_u8; context.size()];
    let mut len = bytes.len();
    let start = bytes.as_mut_ptr().cast();
    // SAFETY: the buffer has this length.
    assert_eq!(unsafe { seccomp_export_bpf_mem(context.0, start, &raw mut len) }, 0);
    let endian = callgate::Arch::native().unwrap().endian();
    let program = callgate::Program::from_bytes(&bytes, endian).unwrap();
    let is_basic = program.iter().all(|insn| Instructions::Basic.allows(insn.op));
    println!("\nprogram: {}", if is_basic { "basic" } else { "other" });
}

#[test]
fn the_environment_selects_the_instructions() {
    if std::env::var_os(CHILD).is_some() {
        return print_whether_basic();
    }
    let program = std::env::current_exe().unwrap();
    for (value, expected) in
        [(None, false), (Some("basic"), true), (Some("all"), false), (Some("BASIC"), false)]
    {
        let test = "the_environment_selects_the_instructions";
        assert_eq!(child_is_basic(&program, test, value), expected, "{value:?}");
    }
}

#[test]
#[ignore = "needs root: creates a program with set-user-ID"]
fn a_set_user_id_program_ignores_the_environment() {
    use std::os::unix::fs::{PermissionsExt, chown};
    if std::env::var_os(CHILD).is_some() {
        return print_whether_basic();
    }
    let directory = std::env::temp_dir().join(format!("callgate-set-id-{}", std::process::id()));
    std::fs::create_dir(&directory).unwrap();
    let program = directory.join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let is_basic = |mode| {
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
        let test = "a_set_user_id_program_ignores_the_environment";
        child_is_basic(&program, test, Some("basic"))
    };
    let without = is_basic(0o755);
    chown(&program, Some(65534), None).unwrap();
    let with = is_basic(0o4755);
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!((without, with), (true, false));
}
