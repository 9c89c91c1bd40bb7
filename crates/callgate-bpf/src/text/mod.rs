//! Reads programs in any textual form: those that [`disasm`](super::disasm) writes, and those of other
//! tools. The form is recognised.
//!
//! | form | looks like |
//! |---|---|
//! | assembly, also as gVisor's documents show it | `ld [4]`, `03: jeq 15, 10, 0`; see [`asm`](super::asm) |
//! | `tcpdump -d` | `(000) ldh [12]` |
//! | `tcpdump -ddd`, `bpf_asm` | a count, then `code jt jf k` in decimal, on lines or between commas |
//! | `tcpdump -dd`, C, Rust, Go | `{ 0x20, 0, 0, 0x00000004 },`, `BPF_STMT(BPF_LD \| BPF_W \| BPF_ABS, 4),`, macros of the text |
//! | `golang.org/x/net/bpf` | `bpf.LoadAbsolute{Off: 4, Size: 4},` |
//! | libseccomp's table, seccomp-tools | ` 0000: 0x20 0x00 0x00 0x00000004   ld  $data[4]` |
//! | seccomp-tools' own assembly | `A = sys_number`, `A == read ? ok : next`, `return ALLOW` |
//! | gVisor's `bpf.DecodeProgram` | `0: A <- P[4:4]` |
//! | the kernel's old names and numbers | `0: BPF_S_ANC_SECCOMP_LD_W 0 0 0x4`, `l0: 0x003d jt=0x00 jf=0x00 k=0x4` |
//! | bytes as `xxd`, `hexdump` and `od` print them | `00000000: 2000 0000 0400 0000  ...` |
//! | literals of bytes, base64 | `b"\x20\x00…"`, `IAAAAAQAAAA=` |
//! | a listing of `firejail --seccomp.print` | ` 0000: 20 00 00 00000004   ld  data.architecture` |
//! | bytes in hexadecimal | `2000000004000000`, `\x20\x00…`, `0x20, 0x00, …`, white space and quotes ignored |
//!
//! Prompts of a shell, fences of Markdown, the marks of a diff or a quotation and line numbers are ignored. A line of dots,
//! which stands for instructions that are left out, is an error.
//!
//! [`Program::from_raw`](callgate_core::Program::from_raw) checks whether the kernel accepts the instructions.

mod clean;
mod dumped;
mod form;
mod gvisor;
mod linux3;
mod options;
mod parse;
mod seccomp_tools;
pub(crate) use seccomp_tools::ARCHES;
mod several;
mod source;
mod table;

pub use clean::without_decoration;
pub use form::has_marks;
pub use linux3::from_linux3;
pub use options::{Definition, TextOptions, TextProgram};
pub use parse::{parse, parse_program};
pub use several::{Programs, programs};
pub use source::calls;

#[cfg(test)]
mod tests;
