//! Sockets with a classic filter: what the kernel makes of packets, without any privilege.
//!
//! A filter on the receiving socket says how many bytes of a packet stay; how many arrive is what it
//! returned, as far as a packet is long enough to show. Source: `net/core/filter.c`, `sk_filter_trim_cap`.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use callgate::bpf::{Insn, Op, SocketProgram};
use libc::{sock_filter, sock_fprog};

/// Two sockets, and a filter on the second.
pub(crate) struct Sockets {
    transport: Transport,
    /// How many bytes there are in front of what is sent, for the filter.
    pub(crate) head: usize,
}

enum Transport {
    /// The packet is what is sent, and there is no device.
    Unix(UnixDatagram, UnixDatagram),
    /// The packet begins with the header of UDP, and comes through the loopback device.
    Udp(UdpSocket, UdpSocket),
}

impl Sockets {
    /// Of `AF_UNIX`; `None`, with a word about it, where there is no such thing or no filter for it.
    pub(crate) fn unix() -> Option<Sockets> {
        told(UnixDatagram::pair().and_then(|(from, to)| {
            to.set_nonblocking(true)?;
            Ok(Sockets { transport: Transport::Unix(from, to), head: 0 })
        }))
    }

    /// Of UDP over loopback; `None` likewise.
    pub(crate) fn udp() -> Option<Sockets> {
        let sockets = || {
            let (from, to) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
            from.connect(to.local_addr()?)?;
            // It arrives at once, unless the kernel is very busy.
            to.set_read_timeout(Some(Duration::from_millis(300)))?;
            // The device may be down.
            from.send(&[1])?;
            to.recv(&mut [0; 1])?;
            Ok(Sockets { transport: Transport::Udp(from, to), head: 8 })
        };
        told(sockets())
    }

    /// How many bytes arrive of a packet under a filter; `None` when it is dropped.
    pub(crate) fn kept(&self, program: &SocketProgram, packet: &[u8]) -> Option<usize> {
        self.attach(program).expect("a filter that is accepted");
        let mut buffer = vec![0; packet.len() + 1];
        let received = match &self.transport {
            Transport::Unix(from, to) => {
                assert_eq!(from.send(packet).expect("a packet is sent"), packet.len());
                to.recv(&mut buffer)
            }
            Transport::Udp(from, to) => {
                assert_eq!(from.send(packet).expect("a packet is sent"), packet.len());
                to.recv(&mut buffer)
            }
        };
        match received {
            Ok(length) => {
                assert_eq!(buffer[..length], packet[..length], "what arrives is what was sent");
                Some(length)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Puts a filter in the place of the one before.
    fn attach(&self, program: &SocketProgram) -> io::Result<()> {
        let receiver: RawFd = match &self.transport {
            Transport::Unix(_, to) => to.as_raw_fd(),
            Transport::Udp(_, to) => to.as_raw_fd(),
        };
        let mut code: Vec<sock_filter> = program
            .to_raw()
            .iter()
            .map(|insn| sock_filter { code: insn.code, jt: insn.jt, jf: insn.jf, k: insn.k })
            .collect();
        let program = sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
        let size = size_of_val(&program) as libc::socklen_t;
        // SAFETY: the kernel reads `size` bytes at `program` and the `len` instructions behind it, all of
        // which live until the call returns; it writes nothing.
        let result = unsafe {
            libc::setsockopt(
                receiver,
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const program).cast(),
                size,
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// The sockets if they can have a filter.
fn told(sockets: io::Result<Sockets>) -> Option<Sockets> {
    let all = SocketProgram::new(vec![Insn::new(Op::RetK, u32::MAX)]).expect("a program");
    let sockets = sockets.and_then(|sockets| sockets.attach(&all).map(|()| sockets));
    sockets.inspect_err(|why| eprintln!("not run: no sockets with a filter here: {why}")).ok()
}
