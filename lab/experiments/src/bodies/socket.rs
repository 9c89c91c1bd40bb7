//! Sockets on the loopback device whose socket filter the kernel runs for each packet that is sent. `unsafe` code:
//! system calls.
//!
//! One [`PacketSocket::send`] is the path of one packet: the kernel copies it, hands it to the loopback device, and runs
//! the filter of the receiving socket, all in the context of the sender. The receive buffer is full, so a packet that the
//! filter accepts is discarded after the filter, and no packet needs a second syscall. A filter runs before the kernel
//! looks at the receive buffer (`packet_rcv` in net/packet/af_packet.c, `udp_queue_rcv_one_skb` in net/ipv4/udp.c).

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use callgate_core::{Insn, Op, SocketProgram};
use callgate_linux::Worker;
use libc::{c_int, c_void, sock_filter, sock_fprog, socklen_t};

use callgate_measure::engines::workloads;

/// The loopback device is the first one of a network namespace.
const LOOPBACK: c_int = 1;

/// The offset at which a load counts from the link-layer header (`SKF_LL_OFF` in linux/filter.h).
const LINK_LAYER: u32 = 0xffe0_0000;

/// More than fit into the smallest receive buffer.
const FILL: usize = 16;

/// The port that a filter looks for.
const PORT: u32 = 22;

/// Where packets are filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketPath {
    /// A packet socket (`AF_PACKET`) at the loopback device of the network namespace of this process, which has no other
    /// sockets.
    Packet(libc::pid_t),
    /// A UDP socket at 127.0.0.1. The filter is rewritten: it loads relative to the link-layer header, looks for UDP
    /// instead of TCP, and for the port of the socket instead of 22.
    Udp,
}

/// A process in a network namespace of its own, with a loopback device that is up. The namespace ends with it.
pub(crate) struct Namespace(Worker);

impl Namespace {
    /// Creates the namespace; `None` if this process may not create one, or not use packet sockets in it.
    pub(crate) fn new() -> Option<Namespace> {
        let holder = attempt(|| isolate().and_then(|()| loopback_up(raw_socket()?.as_raw_fd())))?;
        let namespace = Namespace(holder);
        let path = namespace.path();
        attempt(|| PacketSocket::open(path, None, true).map(drop)).map(|_| namespace)
    }

    /// The path of packets in it.
    pub(crate) fn path(&self) -> PacketPath {
        PacketPath::Packet(self.0.words()[1].load(Ordering::Acquire) as libc::pid_t)
    }
}

/// A child process in which this works, and which then waits for its end; its process ID is the second of its words.
fn attempt(work: impl FnOnce() -> io::Result<()>) -> Option<Worker> {
    /// The child's answers.
    const WORKS: u32 = 1;
    const FAILS: u32 = 2;
    /// A network namespace is created in milliseconds.
    const LIMIT: Duration = Duration::from_secs(20);
    // SAFETY: the child allocates, makes syscalls and writes to the shared memory alone.
    let child = unsafe {
        Worker::start(2, |words| {
            let answer = if work().is_ok() { WORKS } else { FAILS };
            words[1].store(std::process::id(), Ordering::Release);
            words[0].store(answer, Ordering::Release);
            loop {
                std::thread::park();
            }
        })
    };
    let (child, start) = (child.ok()?, Instant::now());
    loop {
        match child.words()[0].load(Ordering::Acquire) {
            WORKS => return Some(child),
            0 if start.elapsed() < LIMIT && matches!(child.has_ended(), Ok(None)) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            _ => return None,
        }
    }
}

/// Two ends on the loopback device, the receiving one with a filter.
pub(crate) struct PacketSocket {
    sender: OwnedFd,
    receiver: OwnedFd,
    packet: Vec<u8>,
}

impl PacketSocket {
    /// Opens both ends and attaches a filter. Without a program, the filter is one instruction that accepts hits or
    /// rejects misses. The packet is a hit or a miss of filters that look for port 22.
    ///
    /// With [`PacketPath::Packet`], the calling process moves to that network namespace, and each packet is shown to all
    /// sockets there.
    pub(crate) fn open(
        path: PacketPath,
        program: Option<&SocketProgram>,
        is_hit: bool,
    ) -> io::Result<PacketSocket> {
        let (socket, port) = match path {
            PacketPath::Packet(process) => {
                enter(process)?;
                (packet_socket(is_hit)?, None)
            }
            PacketPath::Udp => {
                let (socket, port) = udp_sockets()?;
                (socket, Some(port).filter(|_| is_hit))
            }
        };
        let filter: Vec<sock_filter> = match program {
            None => vec![raw(Insn::new(Op::RetK, if is_hit { 0x40000 } else { 0 }))],
            Some(program) if path == PacketPath::Udp => {
                program.iter().map(|insn| raw(rewritten(*insn, port))).collect()
            }
            Some(program) => program.iter().copied().map(raw).collect(),
        };
        attach(socket.receiver.as_raw_fd(), &filter)?;
        for _ in 0..FILL {
            if socket.send() < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(socket)
    }

    /// Sends the packet; a negative number if that fails.
    #[inline]
    pub(crate) fn send(&self) -> isize {
        let (start, length) = (self.packet.as_ptr().cast::<c_void>(), self.packet.len());
        // SAFETY: the kernel reads `length` bytes from the start of the packet.
        unsafe { libc::send(self.sender.as_raw_fd(), start, length, libc::MSG_DONTWAIT) }
    }

    /// Takes a packet from the receive buffer; whether there was one.
    #[cfg(test)]
    fn receive(&self) -> bool {
        let mut byte = 0u8;
        let place = (&raw mut byte).cast::<c_void>();
        // SAFETY: the kernel writes at most one byte.
        unsafe { libc::recv(self.receiver.as_raw_fd(), place, 1, libc::MSG_DONTWAIT) > 0 }
    }
}

/// An instruction for a UDP socket, whose packets start at the UDP header: loads count from the link-layer header
/// instead. With a port, the filter accepts UDP packets with this port.
fn rewritten(insn: Insn, port: Option<u16>) -> Insn {
    const TCP: u32 = 6;
    const UDP: u32 = 17;
    let k = match insn.op {
        Op::LdWordAbs
        | Op::LdHalfAbs
        | Op::LdByteAbs
        | Op::LdWordInd
        | Op::LdHalfInd
        | Op::LdByteInd
        | Op::LdxMsh => insn.k.wrapping_add(LINK_LAYER),
        Op::JeqK if insn.k == PORT => port.map_or(PORT, u32::from),
        Op::JeqK if insn.k == TCP => UDP,
        _ => insn.k,
    };
    Insn { k, ..insn }
}

fn raw(insn: Insn) -> sock_filter {
    sock_filter { code: insn.op.code(), jt: insn.jt, jf: insn.jf, k: insn.k }
}

fn attach(socket: RawFd, filter: &[sock_filter]) -> io::Result<()> {
    let len = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Sets an option of a socket.
fn option<T>(socket: RawFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    let (place, size) = ((&raw const *value).cast::<c_void>(), size_of::<T>() as socklen_t);
    // SAFETY: the kernel reads `size` bytes of the value; a filter that it points to lives as long.
    checked(unsafe { libc::setsockopt(socket, level, name, place, size) }).map(|_| ())
}

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The smallest receive buffer that the kernel allows.
fn shrink(socket: RawFd) -> io::Result<()> {
    option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &(1 as c_int))
}

fn raw_socket() -> io::Result<OwnedFd> {
    // SAFETY: takes integers; the descriptor is new.
    unsafe {
        let socket =
            checked(libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0))?;
        Ok(OwnedFd::from_raw_fd(socket))
    }
}

/// Moves this process to the network namespace of another one, if necessary with its user namespace.
fn enter(process: libc::pid_t) -> io::Result<()> {
    let join = |name: &str, kind| -> io::Result<()> {
        let namespace = File::open(format!("/proc/{process}/ns/{name}"))?;
        // SAFETY: takes integers; the descriptor is open.
        checked(unsafe { libc::setns(namespace.as_raw_fd(), kind) }).map(|_| ())
    };
    join("net", libc::CLONE_NEWNET).or_else(|_| {
        join("user", libc::CLONE_NEWUSER)?;
        join("net", libc::CLONE_NEWNET)
    })
}

/// A packet socket that sends to itself.
fn packet_socket(is_hit: bool) -> io::Result<PacketSocket> {
    let receiver = raw_socket()?;
    shrink(receiver.as_raw_fd())?;
    // SAFETY: an address may be all zeros.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = LOOPBACK;
    let size = size_of::<libc::sockaddr_ll>() as socklen_t;
    // SAFETY: the kernel reads the address, which has this size.
    checked(unsafe { libc::bind(receiver.as_raw_fd(), (&raw const address).cast(), size) })?;
    // A packet that a packet socket sends is not shown to itself on its way out, but on its way in.
    let packet = workloads::port_packet(is_hit);
    Ok(PacketSocket { sender: receiver.try_clone()?, receiver, packet })
}

/// Moves this process to a network namespace of its own, if necessary with a user namespace.
fn isolate() -> io::Result<()> {
    let attempts = [libc::CLONE_NEWNET, libc::CLONE_NEWUSER | libc::CLONE_NEWNET];
    let mut last = Ok(0);
    for flags in attempts {
        // SAFETY: takes an integer and touches no memory of this process.
        last = checked(unsafe { libc::unshare(flags) });
        if last.is_ok() {
            break;
        }
    }
    last.map(|_| ())
}

fn loopback_up(socket: RawFd) -> io::Result<()> {
    // SAFETY: a request may be all zeros.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, letter) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = *letter as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
    // SAFETY: the kernel reads the request.
    checked(unsafe { libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const request) }).map(|_| ())
}

/// A UDP socket, its port, and one that sends to it.
fn udp_sockets() -> io::Result<(PacketSocket, u16)> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let (receiver, sender) = (UdpSocket::bind(any)?, UdpSocket::bind(any)?);
    let port = receiver.local_addr()?.port();
    sender.connect(receiver.local_addr()?)?;
    shrink(receiver.as_raw_fd())?;
    let mut packet = vec![0x2a; 1000];
    // Where a filter expects the length of the TCP header, which follows the UDP header by as much.
    packet[4] = 0x50;
    Ok((PacketSocket { sender: sender.into(), receiver: receiver.into(), packet }, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_measure::engines::workloads::{EngineInputs, by_name};

    fn program(name: &str) -> SocketProgram {
        match by_name(name).unwrap().inputs {
            EngineInputs::Packets { program, .. } => program,
            EngineInputs::Syscalls { .. } => panic!("{name} is for syscalls"),
        }
    }

    /// Whether the kernel's filter accepts the packet: it is in the receive buffer.
    fn accepts(path: PacketPath, program: Option<&SocketProgram>, is_hit: bool) -> bool {
        let socket = PacketSocket::open(path, program, is_hit).unwrap();
        let count = (0..FILL).filter(|_| socket.receive()).count();
        assert!(count < FILL, "the buffer is never large enough for all");
        count > 0
    }

    fn accepts_hits_and_rejects_misses(path: PacketPath) {
        let all = ["port-22", "port-22-with-data"].map(program);
        for program in all.iter().map(Some).chain([None]) {
            assert!(accepts(path, program, true), "{program:?}");
            assert!(!accepts(path, program, false), "{program:?}");
        }
    }

    #[test]
    fn a_udp_socket_accepts_hits_and_rejects_misses() {
        accepts_hits_and_rejects_misses(PacketPath::Udp);
    }

    /// Only this thread moves to the network namespace; without privilege the whole process would have to.
    #[test]
    #[ignore = "needs root"]
    fn a_packet_socket_accepts_hits_and_rejects_misses() {
        let namespace = Namespace::new().unwrap();
        let path = namespace.path();
        let thread = std::thread::spawn(move || {
            accepts_hits_and_rejects_misses(path);
        });
        thread.join().unwrap();
    }
}
