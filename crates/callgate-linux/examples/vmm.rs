//! A virtual machine monitor whose threads have filters of their own, as in Firecracker and cloud-hypervisor.
//!
//!     cargo run -p callgate-linux --example vmm
//!
//! | thread | does | may, besides what each thread needs |
//! |---|---|---|
//! | `api` | passes requests of its client on to the VMM | read from the client, write to the queue |
//! | `vmm` | serves requests and what virtual CPUs report | read from the queue and from the CPUs, write to the log |
//! | `vcpu` (two) | runs a virtual CPU | one `ioctl` on the descriptor of its own CPU, report to the VMM |
//!
//! The filters have variables for descriptors, whose numbers are known once the process has opened them. Each filter is
//! compiled and proved once, for all values; a thread sets its own, which only copies the instructions. A thread
//! installs its filter itself, without TSYNC: the kernel refuses to give one filter to threads whose filters differ.
//!
//! Each thread then tries what only another may do. Instead of `/dev/kvm`, a virtual CPU is a socket, whose `FIONREAD`
//! stands for `KVM_RUN`, so that the example runs anywhere. It is a test: it fails if something is allowed or denied that should not be.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

use callgate::{Arch, Filter, FilterBuilder, Proved, Verdict, arg, values_by_name, var};
use callgate_core::template::Template;
use callgate_linux::{FilterFlags, install};
use libc::{EPERM, c_int, c_void};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The filters of all threads, compiled and proved before the first of them starts.
struct Filters {
    api: Proved<Template>,
    vmm: Proved<Template>,
    vcpu: Proved<Template>,
}

impl Filters {
    fn compile() -> Result<Filters> {
        let is = |variable: &str| arg("fd").eq(var(variable));
        let api = base()?.allow_if("read", is("client"))?.allow_if("write", is("queue"))?;
        let vmm =
            base()?.allow_if("read", is("queue") | is("reports"))?.allow_if("write", is("log"))?;
        let vcpu = base()?
            .allow_if("ioctl", is("cpu") & arg("cmd").eq(RUN))?
            .allow_if("write", is("reports"))?;
        let compile = |builder: FilterBuilder| builder.build()?.compile_template();
        Ok(Filters { api: compile(api)?, vmm: compile(vmm)?, vcpu: compile(vcpu)? })
    }
}

/// What each thread needs to wait, to free its memory and to end. Everything else fails with EPERM, so that the
/// example can show it; a virtual machine monitor would take KILL_PROCESS, the default of the builder.
fn base() -> Result<FilterBuilder> {
    let machine = Arch::native().ok_or("the syscalls of this machine are unknown")?;
    let builder = Filter::builder(machine)
        .default(Verdict::errno(EPERM as u16))
        .allow(["futex", "brk", "mmap", "mprotect", "munmap", "madvise", "close", "exit"])?
        .allow(["rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall"])?;
    Ok(builder)
}

/// Puts the calling thread under a filter with these values of its variables.
fn enter(filter: &Proved<Template>, values: &[(&str, RawFd)]) -> Result<()> {
    let values = values.iter().map(|(name, fd)| (*name, *fd as u64));
    let program = filter.instantiate(&values_by_name(filter.variables(), values)?)?;
    install(&program, FilterFlags::NONE)?;
    Ok(())
}

/// Both ends of a connection, for read(2) and write(2).
fn connection() -> io::Result<(File, File)> {
    let (one, other) = UnixStream::pair()?;
    Ok((File::from(OwnedFd::from(one)), File::from(OwnedFd::from(other))))
}

/// All descriptors: threads share them, so a thread that was taken over knows them.
#[derive(Clone, Copy)]
struct Descriptors {
    client: RawFd,
    queue: RawFd,
    log: RawFd,
    cpus: [RawFd; 2],
}

/// What a thread tried, and whether the filter denied it.
type Attempts = Vec<(&'static str, bool)>;

fn main() -> Result<()> {
    let filters = Arc::new(Filters::compile()?);
    let (mut client, api_client) = connection()?;
    let (api_queue, vmm_queue) = connection()?;
    let (vmm_reports, cpu_reports) = connection()?;
    let (mut log, vmm_log) = connection()?;
    let (cpu_0, cpu_1) = connection()?;
    let all = Descriptors {
        client: api_client.as_raw_fd(),
        queue: api_queue.as_raw_fd(),
        log: vmm_log.as_raw_fd(),
        cpus: [cpu_0.as_raw_fd(), cpu_1.as_raw_fd()],
    };

    let mut threads = Vec::new();
    for (number, cpu) in [cpu_0, cpu_1].into_iter().enumerate() {
        let (filters, reports) = (filters.clone(), cpu_reports.try_clone()?);
        threads.push(thread::spawn(move || vcpu(&filters, number, &cpu, reports, all)));
    }
    drop(cpu_reports);
    let of_vmm = filters.clone();
    threads.push(thread::spawn(move || vmm(&of_vmm, vmm_queue, vmm_reports, vmm_log, all)));
    threads.push(thread::spawn(move || api(&filters, api_client, api_queue, all)));

    client.write_all(b"start\n")?;
    let mut text = String::new();
    log.read_to_string(&mut text)?;
    print!("{text}");
    let mut reports: Vec<&str> = text.lines().collect();
    reports.sort_unstable();
    if reports != ["request: start", "vcpu0 ran", "vcpu1 ran"] {
        return Err(format!("not everything was done: {reports:?}").into());
    }
    for thread in threads {
        for (what, denied) in thread.join().map_err(|_| "a thread panicked")?? {
            println!("{what}: {}", if denied { "denied" } else { "allowed" });
            if !denied {
                return Err(format!("{what} should be denied").into());
            }
        }
    }
    Ok(())
}

fn api(filters: &Filters, mut client: File, mut queue: File, all: Descriptors) -> Result<Attempts> {
    enter(&filters.api, &[("client", client.as_raw_fd()), ("queue", queue.as_raw_fd())])?;
    let mut request = [0; 16];
    let length = client.read(&mut request)?;
    queue.write_all(&request[..length])?;
    Ok(vec![
        ("api: run a CPU", is_denied(run(all.cpus[0], RUN))),
        ("api: write to the log", is_denied(write_nothing(all.log))),
        ("api: write to its client", is_denied(write_nothing(all.client))),
        ("api: open a file", is_denied(File::open("/proc/self/maps"))),
    ])
}

fn vmm(
    filters: &Filters,
    mut queue: File,
    mut reports: File,
    mut log: File,
    all: Descriptors,
) -> Result<Attempts> {
    let fds =
        [("queue", queue.as_raw_fd()), ("reports", reports.as_raw_fd()), ("log", log.as_raw_fd())];
    enter(&filters.vmm, &fds)?;
    let mut request = [0; 16];
    let length = queue.read(&mut request)?;
    log.write_all(b"request: ")?;
    log.write_all(&request[..length])?;
    for _ in all.cpus {
        let mut number = [0];
        reports.read_exact(&mut number)?;
        log.write_all(&[b'v', b'c', b'p', b'u', b'0' + number[0], b' ', b'r', b'a', b'n', b'\n'])?;
    }
    Ok(vec![
        ("vmm: run a CPU", is_denied(run(all.cpus[0], RUN))),
        ("vmm: read from the client", is_denied(read_nothing(all.client))),
        ("vmm: start a process", is_denied(std::process::Command::new("true").status())),
    ])
}

fn vcpu(
    filters: &Filters,
    number: usize,
    cpu: &File,
    mut reports: File,
    all: Descriptors,
) -> Result<Attempts> {
    let (own, other) = (cpu.as_raw_fd(), all.cpus[1 - number]);
    enter(&filters.vcpu, &[("cpu", own), ("reports", reports.as_raw_fd())])?;
    run(own, RUN)?;
    reports.write_all(&[number as u8])?;
    Ok(vec![
        ("vcpu: run another CPU", is_denied(run(other, RUN))),
        ("vcpu: another request to its CPU", is_denied(run(own, OTHER_REQUEST))),
        ("vcpu: read from the client", is_denied(read_nothing(all.client))),
        ("vcpu: write to the queue", is_denied(write_nothing(all.queue))),
    ])
}

/// The request that runs a virtual CPU, and another one. Both return an `int`.
const RUN: u32 = libc::FIONREAD as u32;
const OTHER_REQUEST: u32 = libc::TIOCOUTQ as u32;

fn run(cpu: RawFd, request: u32) -> io::Result<()> {
    let mut answer: c_int = 0;
    // SAFETY: both requests write an `int`.
    check(unsafe { libc::ioctl(cpu, request as _, &raw mut answer) } as isize)
}

/// read(2) of no bytes: it does not wait.
fn read_nothing(fd: RawFd) -> io::Result<()> {
    let mut nothing = [0_u8; 0];
    // SAFETY: nothing is written.
    check(unsafe { libc::read(fd, nothing.as_mut_ptr().cast::<c_void>(), 0) })
}

fn write_nothing(fd: RawFd) -> io::Result<()> {
    // SAFETY: nothing is read.
    check(unsafe { libc::write(fd, [0_u8; 0].as_ptr().cast::<c_void>(), 0) })
}

fn check(result: isize) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn is_denied<T>(result: io::Result<T>) -> bool {
    result.err().and_then(|error| error.raw_os_error()) == Some(EPERM)
}
