//! Packets and captures of packets.

use super::input::{Input, Reader, input, unit};
use std::io::Write;

const SOCKET: &[(&str, &str)] = &[("filter.txt", "ret #0\n")];

pub(super) const READERS: &[Reader] = &[
    Reader {
        name: "packets",
        file: "packets.txt",
        beside: SOCKET,
        most: None,
        is_log: false,
        commands: &["simulate socket:filter.txt --packets packets.txt"],
        inputs: &[
            input!("bytes", "", ["00\n"], ""),
            input!("one packet", "", ["00"], "\n"),
            input!("mistakes", "", ["z\n"], ""),
            input!("newlines", "", ["\n"], "00\n"),
        ],
    },
    Reader {
        name: "capture",
        file: "packets.pcap",
        beside: SOCKET,
        most: None,
        is_log: false,
        commands: &["simulate socket:filter.txt --packets packets.pcap"],
        inputs: &[Input {
            name: "packets without bytes",
            head: b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0",
            unit: |_, out| out.extend([0; 16]),
            units: u64::MAX,
            tail: b"",
        }],
    },
];
