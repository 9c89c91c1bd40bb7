//! Compares the table with the headers of this machine's C library, which are independent of the kernel's.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use callgate::Arch;
use callgate_bpf::constants::{names, value};
use callgate_tasks::Result;
use callgate_tasks::files::{make, run, write};

const HEADERS: &[&str] = &[
    "errno.h",
    "fcntl.h",
    "poll.h",
    "sched.h",
    "signal.h",
    "sys/epoll.h",
    "sys/eventfd.h",
    "sys/fanotify.h",
    "sys/file.h",
    "sys/inotify.h",
    "sys/ioctl.h",
    "sys/ipc.h",
    "sys/mman.h",
    "sys/mount.h",
    "sys/msg.h",
    "sys/personality.h",
    "sys/prctl.h",
    "sys/ptrace.h",
    "sys/random.h",
    "sys/resource.h",
    "sys/sem.h",
    "sys/shm.h",
    "sys/signalfd.h",
    "sys/socket.h",
    "sys/stat.h",
    "sys/swap.h",
    "sys/time.h",
    "sys/timerfd.h",
    "sys/timex.h",
    "sys/wait.h",
    "sys/xattr.h",
    "netinet/in.h",
    "termios.h",
    "time.h",
    "unistd.h",
];

/// Constants to which the C library gives other values than the kernel: `O_LARGEFILE` is 0 where files are always
/// large, and the others are sizes and values of its own functions. It lacks the type of
/// the last requests, and the mask of all flags grows with each version.
const OTHER: &[&str] = &[
    "O_LARGEFILE",
    "F_GETLK64",
    "F_SETLK64",
    "F_SETLKW64",
    "SIGSTKSZ",
    "TCGETS2",
    "TCSETS2",
    "TCSETSF2",
    "TCSETSW2",
    "MOVE_MOUNT__MASK",
];

/// The number of constants that agree.
///
/// # Errors
/// Constants that differ, or failures of the compiler.
pub(super) fn check(directory: &Path) -> Result<usize> {
    let arch = Arch::native().ok_or("the architecture of this machine is unknown")?;
    let mut source = String::from("#define _GNU_SOURCE\n#include <stdio.h>\n");
    for header in HEADERS {
        let _ = writeln!(source, "#if __has_include(<{header}>)\n#include <{header}>\n#endif");
    }
    source += "int main(void) {\n";
    let known = names().filter(|name| value(arch, name).is_some() && !OTHER.contains(name));
    for name in known {
        let _ = writeln!(
            source,
            "#ifdef {name}\nprintf(\"{name} %llu\\n\", (unsigned long long) ({name}));\n#endif"
        );
    }
    source += "}\n";
    let directory = directory.join("library");
    make(&directory)?;
    let (file, program) = (directory.join("constants.c"), directory.join("constants"));
    write(&file, source)?;
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    run(Command::new(compiler).args(["-w", "-O0", "-o"]).arg(&program).arg(&file))?;
    let program =
        fs::canonicalize(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    let output = run(&mut Command::new(program))?;
    let (mut same, mut wrong) = (0, Vec::new());
    for line in output.lines() {
        let (name, given) =
            line.split_once(' ').ok_or_else(|| format!("{line:?} is not NAME VALUE"))?;
        let given: u64 = given.parse().map_err(|_| format!("{line:?} is not NAME VALUE"))?;
        match value(arch, name) {
            // The C library has some values as int, the kernel as unsigned int.
            Some(own) if own == given || own as u32 == given as u32 && own >> 32 != given >> 32 => {
                same += 1
            }
            own => wrong.push(format!("{name}: {own:?} in the table, {given} in the C library")),
        }
    }
    match wrong.as_slice() {
        [] => Ok(same),
        wrong => {
            Err(format!("the C library of this machine has other values:\n{}", wrong.join("\n")))
        }
    }
}
