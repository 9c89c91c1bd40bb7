//! Ways to install a filter: with a listener, without `no_new_privs`, and what is refused. Each test installs its filters in a
//! thread of its own.

use std::error::Error as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::mpsc;
use std::thread;

use callgate::{Arch, Filter, Proved, Verdict};
use callgate_linux::{FilterFlags, InstallErrorKind, Installer, Listener, kernel};
use callgate_testing::{Need, Skip, TestResult};

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        a_listener_decides_about_syscalls,
        a_listener_may_move_to_another_owner,
        without_a_listener_the_kernel_fails_notifying_syscalls,
        a_thread_has_one_listener,
        a_filter_for_another_machine_is_refused,
        without_no_new_privs_the_thread_needs_a_capability,
        errors_keep_the_error_of_the_kernel,
    ]
}

fn machine() -> Arch {
    Arch::native().unwrap()
}

/// `getppid` gets this verdict; everything else is allowed.
fn only_getppid(verdict: Verdict) -> Proved {
    let builder = Filter::builder(machine()).default(Verdict::ALLOW);
    builder.rule(verdict, ["getppid"]).unwrap().build().unwrap().compile().unwrap()
}

/// The result of `getppid`, or its error.
fn getppid() -> Result<i64, i32> {
    // SAFETY: getppid takes no arguments and touches no memory.
    match unsafe { libc::syscall(libc::SYS_getppid) } {
        -1 => Err(std::io::Error::last_os_error().raw_os_error().unwrap()),
        result => Ok(result),
    }
}

fn no_new_privs() -> bool {
    // SAFETY: this request takes numbers and touches no memory.
    unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 }
}

fn needs_listeners() -> Result<(), Skip> {
    match Listener::is_supported() {
        true => Ok(()),
        false => Err(Skip::new(Need::Kernel, "without seccomp listeners")),
    }
}

fn in_a_thread<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    thread::spawn(test).join().unwrap()
}

fn a_listener_decides_about_syscalls() -> TestResult {
    needs_listeners()?;
    let (send, receive) = mpsc::channel();
    let worker = thread::spawn(move || {
        let installer = Installer::new().flags(FilterFlags::WAIT_KILLABLE_RECV);
        let installer = match kernel::knows_flags(FilterFlags::SPEC_ALLOW) {
            true => installer.flags(FilterFlags::SPEC_ALLOW),
            false => installer,
        };
        let program = only_getppid(Verdict::user_notif(7));
        let listener = installer
            .install_with_listener(&program)
            .or_else(|_| Installer::new().install_with_listener(&program));
        send.send(listener.unwrap()).unwrap();
        // SAFETY: gettid takes no arguments and touches no memory.
        (unsafe { libc::gettid() }, [getppid(), getppid(), getppid()])
    });
    let listener = receive.recv().unwrap();

    let first = listener.receive().unwrap().unwrap();
    let (tid, number) = (first.pid(), first.data().nr);
    assert_eq!((number, first.data().arch), (libc::SYS_getppid as u32, machine().token()));
    assert!(listener.is_waiting(&first));
    listener.succeed(&first, 4711).unwrap();
    let second = listener.receive().unwrap().unwrap();
    listener.fail(&second, libc::EMFILE).unwrap();
    let third = listener.receive().unwrap().unwrap();
    listener.continue_syscall(&third).unwrap();
    // SAFETY: getppid takes no arguments and touches no memory.
    let parent = i64::from(unsafe { libc::getppid() });
    assert_eq!(worker.join().unwrap(), (tid, [Ok(4711), Err(libc::EMFILE), Ok(parent)]));
    assert_eq!(listener.receive().unwrap(), None, "no thread has the filter");
    Ok(())
}

/// As if another process had received it. An errno that the kernel would not return is refused before the answer.
fn a_listener_may_move_to_another_owner() -> TestResult {
    needs_listeners()?;
    let (send, receive) = mpsc::channel();
    let worker = thread::spawn(move || {
        let program = only_getppid(Verdict::user_notif(0));
        let listener = Installer::new().install_with_listener(&program).unwrap();
        send.send(OwnedFd::from(listener)).unwrap();
        getppid()
    });
    let fd = receive.recv().unwrap();
    // SAFETY: this request takes a descriptor and touches no memory.
    let flags = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFD) };
    assert_eq!(flags, libc::FD_CLOEXEC);
    let listener = Listener::from(fd);
    let notification = listener.receive().unwrap().unwrap();
    for errno in [0, -1, 4096] {
        let refused = listener.fail(&notification, errno).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL), "{errno}");
    }
    listener.fail(&notification, 4095).unwrap();
    assert_eq!(worker.join().unwrap(), Err(4095));
    assert!(!listener.is_waiting(&notification));
    let gone = listener.succeed(&notification, 0).unwrap_err();
    assert_eq!(gone.raw_os_error(), Some(libc::ENOENT));
    Ok(())
}

fn without_a_listener_the_kernel_fails_notifying_syscalls() -> TestResult {
    needs_listeners()?;
    in_a_thread(|| {
        let notifies = only_getppid(Verdict::user_notif(0));
        let error = Installer::new().install(&notifies).unwrap_err();
        assert!(matches!(error.kind(), InstallErrorKind::Notifies), "{error:?}");
        let silent = only_getppid(Verdict::errno(1));
        let error = Installer::new().install_with_listener(&silent).unwrap_err();
        assert!(matches!(error.kind(), InstallErrorKind::NeverNotifies), "{error:?}");
        assert!(getppid().is_ok() && !no_new_privs(), "nothing was changed");
        Installer::new().without_listener().install(&notifies).unwrap();
        assert_eq!(getppid(), Err(libc::ENOSYS));
    });
    Ok(())
}

fn a_thread_has_one_listener() -> TestResult {
    needs_listeners()?;
    in_a_thread(|| {
        let notifies = only_getppid(Verdict::user_notif(0));
        let listener = Installer::new().install_with_listener(&notifies).unwrap();
        let error = Installer::new().install_with_listener(&notifies).unwrap_err();
        assert!(matches!(error.kind(), InstallErrorKind::SecondListener), "{error:?}");
        assert_eq!(error.errno(), libc::EBUSY);
        drop(listener);
        assert_eq!(getppid(), Err(libc::ENOSYS), "the listener was dropped");
    });
    Ok(())
}

fn a_filter_for_another_machine_is_refused() -> TestResult {
    let other = if machine() == Arch::S390x { Arch::X86_64 } else { Arch::S390x };
    in_a_thread(move || {
        let builder = || {
            let builder = Filter::builder(other).default(Verdict::ALLOW);
            builder.rule(Verdict::user_notif(0), ["getppid"]).unwrap()
        };
        let program = builder().build().unwrap().compile().unwrap();
        let error = Installer::new().without_listener().install(&program).unwrap_err();
        let InstallErrorKind::OtherMachine { arches, machine: own } = error.kind() else {
            panic!("{error:?}")
        };
        assert_eq!((arches.as_slice(), *own), ([other].as_slice(), machine()));
        let error = Installer::new().install_with_listener(&program).unwrap_err();
        assert!(matches!(error.kind(), InstallErrorKind::OtherMachine { .. }), "{error:?}");
        // This one says that other architectures may do everything.
        let lenient = builder().bad_arch(Verdict::ALLOW).build().unwrap().compile().unwrap();
        Installer::new().without_listener().install(&lenient).unwrap();
        assert!(getppid().is_ok());
    });
    Ok(())
}

/// Drops all capabilities of the calling thread.
fn drop_capabilities() {
    // `struct __user_cap_header_struct` with _LINUX_CAPABILITY_VERSION_3, and two `struct __user_cap_data_struct`.
    let header = [0x2008_0522_u32, 0];
    let none = [0_u32; 6];
    // SAFETY: the kernel reads both arrays, which have the sizes of its structures.
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(result, 0);
}

fn without_no_new_privs_the_thread_needs_a_capability() -> TestResult {
    let privileged = Installer::new().no_new_privs(false);
    in_a_thread(move || {
        drop_capabilities();
        let error = privileged.install(&only_getppid(Verdict::errno(1))).unwrap_err();
        assert!(
            matches!(error.kind(), InstallErrorKind::Privileges { no_new_privs: false, .. }),
            "{error:?}"
        );
        assert_eq!(error.errno(), libc::EACCES);
        assert!(error.help().contains("CAP_SYS_ADMIN"), "{}", error.help());
        assert!(getppid().is_ok() && !no_new_privs(), "nothing was changed");
        // The flag may also have been set before.
        Installer::new().install(&only_getppid(Verdict::ALLOW)).unwrap();
        privileged.install(&only_getppid(Verdict::errno(1))).unwrap();
        assert_eq!(getppid(), Err(libc::EPERM));
    });
    // SAFETY: geteuid takes no arguments and touches no memory.
    if unsafe { libc::geteuid() } != 0 {
        return Err(Skip::new(Need::Root, "CAP_SYS_ADMIN"));
    }
    in_a_thread(move || {
        privileged.install(&only_getppid(Verdict::errno(1))).unwrap();
        assert_eq!(getppid(), Err(libc::EPERM));
        assert!(!no_new_privs());
    });
    Ok(())
}

fn errors_keep_the_error_of_the_kernel() -> TestResult {
    in_a_thread(|| {
        let denied = Verdict::errno(libc::EMFILE as u16);
        let builder = Filter::builder(machine()).default(Verdict::ALLOW);
        let filter = builder.rule(denied, ["seccomp"]).unwrap().build().unwrap();
        Installer::new().install(&filter.compile().unwrap()).unwrap();
        let error = Installer::new().install(&only_getppid(Verdict::ALLOW)).unwrap_err();
        let InstallErrorKind::Other { why } = error.kind() else { panic!("{error:?}") };
        assert_eq!((why.raw_os_error(), error.errno()), (Some(libc::EMFILE), libc::EMFILE));
        let source = error.source().unwrap().downcast_ref::<std::io::Error>().unwrap();
        assert_eq!(source.raw_os_error(), Some(libc::EMFILE));
    });
    Ok(())
}
