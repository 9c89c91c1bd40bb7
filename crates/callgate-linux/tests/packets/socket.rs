//! Sockets with a classic BPF filter, which need no privilege.
//!
//! The filter on the receiving socket returns how many bytes of a packet to keep, and that many arrive. Source: `net/core/filter.c`, `sk_filter_trim_cap`.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use callgate_core::{Insn, Op, SocketProgram};
use callgate_testing::{Need, Skip};
use libc::{sock_filter, sock_fprog};

/// Two sockets, and a filter on the second.
pub(crate) struct Sockets {
    transport: Transport,
    /// How many bytes the filter sees in front of what is sent.
    pub(crate) head: usize,
}

enum Transport {
    /// The packet is what is sent, and there is no device.
    Unix(UnixDatagram, UnixDatagram),
    /// The packet begins with the header of UDP, and comes through the loopback device.
    Udp(UdpSocket, UdpSocket),
}

impl Sockets {
    /// Sockets of `AF_UNIX`.
    pub(crate) fn unix() -> Result<Sockets, Skip> {
        with_filter(UnixDatagram::pair().and_then(|(from, to)| {
            to.set_nonblocking(true)?;
            Ok(Sockets { transport: Transport::Unix(from, to), head: 0 })
        }))
    }

    /// UDP sockets on the loopback device.
    pub(crate) fn udp() -> Result<Sockets, Skip> {
        let sockets = || {
            let (from, to) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
            from.connect(to.local_addr()?)?;
            // Loopback delivers a packet before `send` returns, unless the kernel defers that to another thread, which
            // a busy machine delays. A packet that is dropped takes this long.
            to.set_read_timeout(Some(Duration::from_secs(3)))?;
            // The device may be down.
            from.send(&[1])?;
            to.recv(&mut [0; 1])?;
            Ok(Sockets { transport: Transport::Udp(from, to), head: 8 })
        };
        with_filter(sockets())
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

/// The sockets, if the kernel accepts a filter for them.
fn with_filter(sockets: io::Result<Sockets>) -> Result<Sockets, Skip> {
    let all = SocketProgram::new(vec![Insn::new(Op::RetK, u32::MAX)]).expect("a program");
    let sockets = sockets.and_then(|sockets| sockets.attach(&all).map(|()| sockets));
    sockets.map_err(|why| Skip::new(Need::Sockets, why))
}
