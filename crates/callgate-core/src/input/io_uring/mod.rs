//! io_uring requests as filters see them: `struct io_uring_bpf_ctx`, since Linux 7.0.
//!
//! `IORING_REGISTER_BPF_FILTER` registers a classic BPF program for one opcode of a ring, or of all rings that a task
//! creates later. It has the instructions of seccomp filters, reads [40 bytes](IO_URING_CONTEXT_SIZE) that describe a
//! [request](IoUringRequest), and [decides](Decision) whether that is executed: the kernel fails a denied request with
//! EACCES. `docs/developers/decisions/inputs.md` has the rules of registration, stacking and inheritance.
//!
//! Sources, all of Linux 7.0: `include/uapi/linux/io_uring/bpf_filter.h`; `io_uring/bpf_filter.c`,
//! `io_uring_populate_bpf_ctx`, `io_uring_check_cbpf_filter` and `__io_uring_run_bpf_filters`; `io_uring/opdef.c`,
//! `filter_pdu_size`.

mod decision;
mod member;
mod request;
pub(in crate::input) mod words;

pub use decision::Decision;
pub use member::{Member, MemberPlace};
pub use request::{IoUringRequest, SocketPayload};
pub use words::{IO_URING_CONTEXT_SIZE, OPCODE, OPCODES, PDU_SIZE, SQE_FLAGS, WORDS};
