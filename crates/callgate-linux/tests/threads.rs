//! TSYNC affects all threads of a process, so this test has one of its own.

use std::sync::mpsc;

use callgate::Verdict;
use callgate_core::{Insn, Op, Program};
use callgate_linux::{FilterFlags, install_unproved};
use callgate_testing::TestResult;

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

callgate_testing::tests![all_threads_get_the_filter_or_none_does];

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
