//! A packet sent to a socket on which the kernel runs the socket filter of the subject.

use callgate_core::SocketProgram;
use callgate_measure::{ReadyWork, Work, WorkError};

use super::socket::{PacketPath, PacketSocket};

/// One packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// The kind of the socket.
    pub(crate) path: PacketPath,
    /// Whether filters accept the packet.
    pub(crate) is_hit: bool,
}

/// A packet with its socket, which `start` opens after other bodies: a packet is shown to all open sockets.
struct ReadyPacket {
    packet: Packet,
    socket: Option<PacketSocket>,
}

impl Work for Packet {
    fn prepare(&self) -> Result<Box<dyn ReadyWork>, WorkError> {
        Ok(Box::new(ReadyPacket { packet: *self, socket: None }))
    }
}

impl ReadyWork for ReadyPacket {
    fn start(&mut self, filter: Option<&SocketProgram>) -> Result<(), WorkError> {
        let Packet { path, is_hit } = self.packet;
        self.socket = Some(PacketSocket::open(path, filter, is_hit).map_err(WorkError::Socket)?);
        Ok(())
    }

    fn once(&self) {
        if let Some(socket) = &self.socket {
            socket.send();
        }
    }
}
