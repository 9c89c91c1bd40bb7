//! The options that name packets.

use std::path::PathBuf;

use clap::ValueHint;

use super::hex::{self, MAX_PACKETS, Packet};
use super::pcap;
use crate::report::{self, Failure, Result};
use crate::source::Place;

/// The maximum size of a file of packets.
const MAX_BYTES: u64 = 64 << 20;

/// Help for files that exceed the limits.
const FEWER: &str = "use fewer packets: tcpdump -r FILE -c 1000 -w NEW.pcap writes the first 1000";

/// Where packets come from.
#[derive(Debug, clap::Args)]
#[group(id = "packet-options", multiple = false, requires = "source")]
pub(crate) struct PacketOptions {
    /// A packet for a socket filter, in hexadecimal; may be repeated
    #[arg(long, value_name = "HEX", value_parser = hex::packet, help_heading = "Packets")]
    packet: Vec<Packet>,

    /// Read packets from this file: a pcap capture, or text with a packet per line in hexadecimal; at most
    /// a million packets and 64 MiB
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Packets")]
    packets: Option<PathBuf>,
}

impl PacketOptions {
    /// Whether packets are given.
    pub(crate) fn are_given(&self) -> bool {
        !self.packet.is_empty() || self.packets.is_some()
    }

    /// The packets, at least one. Warnings are printed.
    ///
    /// # Errors
    /// If the file cannot be read, or contains no packets or too many.
    pub(crate) fn read(&self) -> Result<Vec<Packet>> {
        let Some(path) = &self.packets else { return Ok(self.packet.clone()) };
        let place = Place::of_path(path);
        let bytes = place.read_at_most(MAX_BYTES, FEWER)?;
        let mut cut = 0;
        let packets = match pcap::order(&bytes) {
            Some(order) => {
                let capture = pcap::read(&bytes, order)
                    .map_err(|why| Failure::about(place.name(), why.message).help(why.help))?;
                cut = capture.cut;
                capture.packets
            }
            None if bytes.starts_with(&pcap::NEXT_GENERATION) => {
                return Err(Failure::about(place.name(), "unsupported capture format: pcapng")
                    .help("convert it to pcap with tcpdump -r FILE -w NEW.pcap"));
            }
            None => {
                let text = place.text(bytes, "packets are read from pcap captures and text")?;
                hex::packets(&text).map_err(|errors| Failure::of(place.name(), errors))?
            }
        };
        match packets.len() {
            0 => Err(Failure::about(place.name(), "the input contains no packets").help(
                "capture packets with tcpdump -w FILE, or write one per line in hexadecimal",
            )),
            count if count > MAX_PACKETS => {
                let message =
                    format!("the input contains more than {MAX_PACKETS} packets, the limit");
                Err(Failure::about(place.name(), message).help(FEWER))
            }
            count => {
                if cut > 0 {
                    report::warn_about(
                        &place.name(),
                        format!(
                            "{cut} of {count} packets were truncated when they were captured; \
                             the filter sees only the captured bytes"
                        ),
                        "capture whole packets: tcpdump -s 0",
                    );
                }
                Ok(packets)
            }
        }
    }
}
