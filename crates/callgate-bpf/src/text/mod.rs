//! Reads programs in any textual form: those that [`disasm`](super::disasm) writes, and those of other
//! tools. The form is recognised.
//!
//! | form | looks like |
//! |---|---|
//! | assembly | `ld [4]`; see [`asm`](super::asm) |
//! | `tcpdump -d` | `(000) ldh [12]` |
//! | `tcpdump -ddd`, `bpf_asm` | a count, then `code jt jf k` in decimal, on lines or between commas |
//! | `tcpdump -dd`, C, Rust, Go | `{ 0x20, 0, 0, 0x00000004 },`, `BPF_STMT(BPF_LD \| BPF_W \| BPF_ABS, 4),` |
//! | libseccomp's table | ` 0000: 0x20 0x00 0x00 0x00000004   ld  $data[4]` |
//! | the kernel's old names | `0: BPF_S_ANC_SECCOMP_LD_W 0 0 0x4` |
//! | bytes in hexadecimal | `2000000004000000`, `\x20\x00…`, `0x20, 0x00, …`, white space and quotes ignored |
//!
//! [`Program::from_raw`](super::Program::from_raw) checks whether the kernel accepts the instructions.

mod error;
mod form;
mod hex;
mod parse;
mod source;
mod table;

pub use parse::{parse, parse_for};

#[cfg(test)]
mod tests;
