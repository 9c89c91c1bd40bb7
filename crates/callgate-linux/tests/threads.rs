//! TSYNC affects all threads of a process, so this test has one of its own.

use std::sync::mpsc;

use callgate::Verdict;
use callgate_core::{Insn, Op, Program};
use callgate_linux::{FilterFlags, InstallErrorKind, Installer, Listener, install_unproved};
use callgate_testing::{Need, Skip, TestResult};

/// `getppid` fails with this errno; everything else is allowed.
fn deny_getppid(errno: i32) -> Program {
    Program::new(vec![
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, libc::SYS_getppid as u32, 0, 1),
        Insn::new(Op::RetK, Verdict::errno(errno as u16).0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ])
    .unwrap()
}

fn getppid() -> Option<i32> {
    // SAFETY: getppid takes no arguments and touches no memory.
    let result = unsafe { libc::syscall(libc::SYS_getppid) };
    if result < 0 { std::io::Error::last_os_error().raw_os_error() } else { None }
}

callgate_testing::tests![filters_of_all_threads];

/// One after the other: each changes the whole process.
fn filters_of_all_threads() -> TestResult {
    all_threads_get_the_filter_or_none_does()?;
    all_threads_notify_one_listener()
}

fn all_threads_get_the_filter_or_none_does() -> TestResult {
    let (tell, told) = mpsc::channel();
    let (stop, stopped) = mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        install_unproved(&deny_getppid(libc::EPERM), FilterFlags::NONE).unwrap();
        // SAFETY: gettid takes no arguments and touches no memory.
        tell.send(unsafe { libc::gettid() }).unwrap();
        let _ = stopped.recv();
    });
    let odd = told.recv().unwrap();
    let error = install_unproved(&deny_getppid(libc::EMFILE), FilterFlags::TSYNC).unwrap_err();
    assert!(error.to_string().contains(&format!("thread {odd} ")), "{error}");
    assert_eq!(getppid(), None, "nothing was installed");
    drop(stop);
    thread.join().unwrap();

    let (go, gone) = mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let _ = gone.recv();
        getppid()
    });
    install_unproved(&deny_getppid(libc::EMFILE), FilterFlags::TSYNC).unwrap();
    drop(go);
    assert_eq!(thread.join().unwrap(), Some(libc::EMFILE));
    Ok(())
}

/// `getpgid` notifies; everything else is allowed.
fn notify_getpgid() -> Program {
    Program::new(vec![
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, libc::SYS_getpgid as u32, 0, 1),
        Insn::new(Op::RetK, Verdict::user_notif(0).0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ])
    .unwrap()
}

fn all_threads_notify_one_listener() -> TestResult {
    if !Listener::is_supported() {
        return Err(Skip::new(Need::Kernel, "without seccomp listeners"));
    }
    let installer = Installer::new().flags(FilterFlags::TSYNC);
    // With a thread that has a filter of its own, none gets it; the kernel does not say which thread that is.
    let (tell, told) = mpsc::channel();
    let (stop, stopped) = mpsc::channel::<()>();
    let odd = std::thread::spawn(move || {
        install_unproved(&deny_getppid(libc::EPERM), FilterFlags::NONE).unwrap();
        tell.send(()).unwrap();
        let _ = stopped.recv();
    });
    told.recv().unwrap();
    let error = installer.install_unproved_with_listener(&notify_getpgid()).unwrap_err();
    assert!(matches!(error.kind(), InstallErrorKind::Thread { thread: None }), "{error:?}");
    drop(stop);
    odd.join().unwrap();

    let (go, gone) = mpsc::channel::<()>();
    let worker = std::thread::spawn(move || {
        let _ = gone.recv();
        // SAFETY: getpgid takes a number and touches no memory.
        unsafe { libc::getpgid(0) }
    });
    let listener = installer.install_unproved_with_listener(&notify_getpgid()).unwrap();
    drop(go);
    let notification = listener.receive().unwrap().unwrap();
    listener.succeed(&notification, 4711).unwrap();
    assert_eq!(worker.join().unwrap(), 4711);
    Ok(())
}
