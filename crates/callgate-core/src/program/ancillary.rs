//! Ancillary data: what a socket filter can load besides the packet.
//!
//! Source: `include/uapi/linux/filter.h` (`SKF_*`), `include/linux/filter.h` (`bpf_anc_helper`).

/// Offsets from here on are ancillary words (`SKF_AD_OFF`, -0x1000).
pub const SKF_AD_OFF: u32 = 0xffff_f000;
/// Offsets from here on count from the network header (`SKF_NET_OFF`, -0x100000).
pub const SKF_NET_OFF: u32 = 0xfff0_0000;
/// Offsets from here on count from the link layer header (`SKF_LL_OFF`, -0x200000).
pub const SKF_LL_OFF: u32 = 0xffe0_0000;

macro_rules! words {
    ($($variant:ident = $offset:literal, $name:literal, $doc:literal;)*) => {
        /// A word that the kernel keeps about a packet (`SKF_AD_*`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AncillaryWord {
            $(#[doc = $doc] $variant,)*
        }

        impl AncillaryWord {
            /// Every word, in the order of the offsets.
            pub const ALL: &'static [AncillaryWord] = &[$(AncillaryWord::$variant,)*];

            /// The `k` of a load of this word.
            pub const fn offset(self) -> u32 {
                SKF_AD_OFF + match self { $(AncillaryWord::$variant => $offset,)* }
            }

            /// The word at this offset.
            pub const fn from_offset(k: u32) -> Option<AncillaryWord> {
                match k.wrapping_sub(SKF_AD_OFF) {
                    $($offset => Some(AncillaryWord::$variant),)*
                    _ => None,
                }
            }

            /// Its name in `bpf_asm` (`ld #proto`); empty for the one without a name.
            pub const fn name(self) -> &'static str {
                match self { $(AncillaryWord::$variant => $name,)* }
            }
        }
    };
}

words! {
    Protocol = 0, "proto", "The link layer protocol (`SKF_AD_PROTOCOL`).";
    PacketType = 4, "type", "`PACKET_HOST` and so on (`SKF_AD_PKTTYPE`).";
    InterfaceIndex = 8, "ifidx", "The interface (`SKF_AD_IFINDEX`).";
    NetlinkAttribute = 12, "nla", "The offset of the netlink attribute of type X from offset A on, or 0 (`SKF_AD_NLATTR`).";
    NestedAttribute = 16, "nlan", "The offset of the netlink attribute of type X inside the one at A, or 0 (`SKF_AD_NLATTR_NEST`).";
    Mark = 20, "mark", "The mark (`SKF_AD_MARK`).";
    Queue = 24, "queue", "The receive queue (`SKF_AD_QUEUE`).";
    HardwareType = 28, "hatype", "The interface's hardware type (`SKF_AD_HATYPE`).";
    ReceiveHash = 32, "rxhash", "The flow hash (`SKF_AD_RXHASH`).";
    Cpu = 36, "cpu", "The processor (`SKF_AD_CPU`).";
    AluXorX = 40, "", "A ^ X: not a word, but the encoding of XOR before it was an instruction (`SKF_AD_ALU_XOR_X`).";
    VlanTag = 44, "vlan_tci", "The VLAN tag (`SKF_AD_VLAN_TAG`).";
    VlanTagPresent = 48, "vlan_avail", "Whether there is a VLAN tag (`SKF_AD_VLAN_TAG_PRESENT`).";
    PayloadOffset = 52, "poff", "The offset of the payload (`SKF_AD_PAY_OFFSET`).";
    Random = 56, "rand", "A random number (`SKF_AD_RANDOM`).";
    VlanProtocol = 60, "vlan_tpid", "The VLAN protocol (`SKF_AD_VLAN_TPID`).";
}

/// The ancillary data of a packet.
///
/// By default all words are 0, and both the link layer header and the network header start at offset 0.
/// Not modelled are packets without a device, for which the kernel ends a program that loads their
/// interface or hardware type, and headers before the packet, which the filter of a UDP socket can read.
pub trait Ancillary {
    /// The value of a word, with the packet and the registers, which the netlink words depend on.
    /// Never called for [`AncillaryWord::AluXorX`].
    #[expect(unused_variables, reason = "their names are documentation")]
    fn word(&self, word: AncillaryWord, packet: &[u8], a: u32, x: u32) -> u32 {
        0
    }

    /// The offset of the network header, for loads from `SKF_NET_OFF` on.
    fn network_header(&self) -> usize {
        0
    }

    /// The offset of the link layer header, for loads from `SKF_LL_OFF` on. If it is `None`, such a load
    /// ends the program with 0.
    fn link_header(&self) -> Option<usize> {
        Some(0)
    }
}

/// Forwards to the referenced value, which may be a `dyn Ancillary`.
impl<T: Ancillary + ?Sized> Ancillary for &T {
    fn word(&self, word: AncillaryWord, packet: &[u8], a: u32, x: u32) -> u32 {
        (**self).word(word, packet, a, x)
    }
    fn network_header(&self) -> usize {
        (**self).network_header()
    }
    fn link_header(&self) -> Option<usize> {
        (**self).link_header()
    }
}

/// No ancillary data: the defaults of [`Ancillary`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoAncillary;

impl Ancillary for NoAncillary {}

impl AncillaryWord {
    /// The name of a word load of it in Linux 3.10 (`BPF_S_*`, without the prefix); `None` for later
    /// words.
    pub const fn legacy_name(self) -> Option<&'static str> {
        Some(match self {
            AncillaryWord::Protocol => "ANC_PROTOCOL",
            AncillaryWord::PacketType => "ANC_PKTTYPE",
            AncillaryWord::InterfaceIndex => "ANC_IFINDEX",
            AncillaryWord::NetlinkAttribute => "ANC_NLATTR",
            AncillaryWord::NestedAttribute => "ANC_NLATTR_NEST",
            AncillaryWord::Mark => "ANC_MARK",
            AncillaryWord::Queue => "ANC_QUEUE",
            AncillaryWord::HardwareType => "ANC_HATYPE",
            AncillaryWord::ReceiveHash => "ANC_RXHASH",
            AncillaryWord::Cpu => "ANC_CPU",
            AncillaryWord::AluXorX => "ANC_ALU_XOR_X",
            AncillaryWord::VlanTag => "ANC_VLAN_TAG",
            AncillaryWord::VlanTagPresent => "ANC_VLAN_TAG_PRESENT",
            AncillaryWord::PayloadOffset => "ANC_PAY_OFFSET",
            AncillaryWord::Random | AncillaryWord::VlanProtocol => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tagged;

    impl Ancillary for Tagged {
        fn word(&self, word: AncillaryWord, packet: &[u8], a: u32, x: u32) -> u32 {
            word.offset() ^ (packet.len() as u32 * 100 + a * 10 + x)
        }
        fn network_header(&self) -> usize {
            34
        }
        fn link_header(&self) -> Option<usize> {
            Some(14)
        }
    }

    #[test]
    fn a_reference_answers_as_its_referent() {
        fn answers(ancillary: impl Ancillary) -> (u32, usize, Option<usize>) {
            let word = ancillary.word(AncillaryWord::Mark, &[0; 3], 2, 1);
            (word, ancillary.network_header(), ancillary.link_header())
        }
        let referent: &dyn Ancillary = &Tagged;
        assert_eq!(answers(referent), (0xffff_f014 ^ 321, 34, Some(14)));
    }
}
