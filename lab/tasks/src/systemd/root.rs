//! A directory with Debian's systemd and the packages that it needs.

use callgate_bpf::SyscallTable;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use callgate::Arch;
use callgate_bpf::syscalls::known_names;
use callgate_formats::systemd::SystemdVersion;

use callgate_tasks::apt::Apt;
use callgate_tasks::files::{make, remove, run, write};
use callgate_tasks::{Result, workspace};

/// Programs that run in the directory.
const PROGRAMS: [(&str, &str); 2] =
    [("pause", include_str!("pause.c")), ("names", include_str!("names.c"))];

/// A directory that `chroot` takes.
pub(super) struct Root {
    pub(super) path: PathBuf,
    /// The version of the package, such as `257.13-1~deb13u1`.
    pub(super) package: String,
    pub(super) version: SystemdVersion,
    /// The syscalls that its libseccomp does not know.
    pub(super) lacks: Vec<String>,
    /// The syscalls that its libseccomp knows, but not on this architecture, by number.
    pub(super) lacks_on: Vec<(Arch, u32)>,
}

impl Root {
    /// Downloads and unpacks the packages of a suite, unless that was done before.
    pub(super) fn prepare(suite: &str) -> Result<Root> {
        let directory = workspace().join("target/systemd").join(suite);
        let (path, done) = (directory.join("root"), directory.join("version"));
        if !done.exists() {
            let package = unpack(suite, &directory, &path)?;
            write(&done, package)?;
        }
        let package = String::from_utf8_lossy(&callgate_tasks::files::read(&done)?).into_owned();
        let version = package.parse().map_err(|error| format!("{suite}: {error}"))?;
        for (name, source) in PROGRAMS {
            compile(&path, name, source)?;
        }
        let (mut lacks, mut lacks_on) = (Vec::new(), Vec::new());
        for line in lacking(&path)? {
            let mut words = line.split(' ');
            let (arch, number, name) = (words.next(), words.next(), words.next());
            let (Some(arch), Some(number), Some(name)) = (arch, number, name) else { continue };
            let arch = match arch {
                "0" => Arch::X86_64,
                "1" => Arch::X86,
                _ => Arch::X32,
            };
            match (number, arch.number(name)) {
                ("-1", _) if arch == Arch::X86_64 => lacks.push(name.to_owned()),
                // A pseudo number, which stands for a syscall that is reached through a multiplexer, is no lack.
                (_, Some(number)) if arch.multiplexed(name).is_none() => {
                    lacks_on.push((arch, number))
                }
                _ => {}
            }
        }
        Ok(Root { path, package, version, lacks, lacks_on })
    }
}

fn unpack(suite: &str, directory: &Path, path: &Path) -> Result<String> {
    println!("{suite}: downloading systemd and the packages that it needs");
    let apt = Apt::new(&directory.join("apt"), suite, Some("amd64"))?;
    let packages = apt.closure("systemd")?;
    let names: Vec<&str> = packages.iter().map(String::as_str).collect();
    apt.download(&names)?;
    remove(path)?;
    for name in &names {
        apt.unpack(name, path)?;
    }
    // Some packages have /lib, others /usr/lib; systemd expects that both are the same.
    for name in ["bin", "sbin", "lib", "lib64"] {
        let (top, merged) = (path.join(name), path.join("usr").join(name));
        make(&merged)?;
        if top.is_dir() && !top.is_symlink() {
            run(Command::new("cp").arg("-a").arg(top.join(".")).arg(&merged))?;
            remove(&top)?;
        }
        if !top.exists() {
            std::os::unix::fs::symlink(Path::new("usr").join(name), &top)
                .map_err(|error| format!("{}: {error}", top.display()))?;
        }
    }
    for name in ["dev", "proc", "sys", "run", "tmp", "root", "etc", "callgate/units"] {
        make(&path.join(name))?;
    }
    write(&path.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n")?;
    write(&path.join("etc/group"), "root:x:0:\n")?;
    write(&path.join("etc/machine-id"), "0123456789abcdef0123456789abcdef\n")?;
    apt.field("systemd", "Version")
}

/// Compiles a program into the directory. `pause` needs no library, `names` the libseccomp in the directory.
fn compile(path: &Path, name: &str, source: &str) -> Result<()> {
    let file = path.join("callgate").join(format!("{name}.c"));
    write(&file, source)?;
    let mut command = Command::new("cc");
    command.arg("-O1").arg(&file).arg("-o").arg(path.join("callgate").join(name));
    match name {
        "pause" => command.args(["-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector"]),
        _ => {
            let library = path.join("usr/lib/x86_64-linux-gnu/libseccomp.so.2");
            command.arg(library).arg("-Wl,--allow-shlib-undefined")
        }
    };
    run(&mut command).map(drop)
}

/// Lines with the index of an architecture, a negative number, and a name that has no other number there.
fn lacking(path: &Path) -> Result<Vec<String>> {
    let mut command = Command::new("chroot");
    command.arg(path).arg("/callgate/names").stdin(Stdio::piped()).stdout(Stdio::piped());
    let failed = |error: std::io::Error| format!("chroot: {error}");
    let mut child = command.spawn().map_err(failed)?;
    let names: String = known_names().map(|name| format!("{name}\n")).collect();
    let input = child.stdin.take();
    // In a thread of its own, because the answers may fill their pipe.
    let writer = std::thread::spawn(move || {
        input.map_or(Ok(()), |mut input| input.write_all(names.as_bytes()))
    });
    let output = child.wait_with_output().map_err(failed)?;
    writer.join().map_err(|_| "the writer of names panicked")?.map_err(failed)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()),
        false => Err("the list of syscalls that libseccomp lacks: the program failed".to_owned()),
    }
}
