//! Machine code in bytes, so that these tests need no compiler: what writes to parts of registers, comparisons and branches
//! say about numbers. Each case is the code at the entry point of a program of its own.

use callgate_elf::{Analysis, File, Image, Role, analyze};
use callgate_testing::{TestResult, Trial};

/// The tests of this module.
pub(crate) fn trials() -> Vec<Trial> {
    callgate_testing::trials![
        numbers_are_those_of_the_bytes,
        numbers_are_those_of_the_bytes_of_aarch64
    ]
}

/// A static program of these bytes for a machine (`e_machine`), without sections and symbols.
fn program(machine: u16, code: &[u8]) -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let size = HEADERS + code.len() as u64;
    let mut file = Vec::from(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    for half in [2_u16, machine] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1_u32.to_le_bytes());
    for word in [BASE + HEADERS, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0_u32.to_le_bytes());
    for half in [64_u16, 56, 1, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    // PT_LOAD, readable and executable.
    for word in [1_u32, 5] {
        file.extend(word.to_le_bytes());
    }
    for word in [0, BASE, BASE, size, size, 0x1000] {
        file.extend(word.to_le_bytes());
    }
    file.extend(code);
    file
}

fn analysis(machine: u16, code: &str) -> Analysis {
    let byte = |at: usize| u8::from_str_radix(&code[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..code.len()).step_by(2).map(byte).collect();
    let image = Image::parse("program", program(machine, &bytes)).unwrap();
    analyze(vec![File { image, role: Role::Program }]).unwrap()
}

/// A name, code, the numbers that it can have, and how many places have unknown ones.
type Case = (&'static str, &'static str, &'static [u32], usize);

#[rustfmt::skip]
const CASES: &[Case] = &[
    // xor %eax,%eax; mov $0x38,%al; syscall; test %eax,%eax; jne 1f; xor %eax,%eax; mov $0x3c,%al; syscall; hlt; 1: hlt
    ("musl_clone", "31c0b0380f0585c0750731c0b03c0f05f4f4", &[56, 60], 0),
    // mov %fs:0,%rax; mov $0x38,%al; syscall; hlt
    ("al_of_unknown", "64488b042500000000b0380f05f4", &[], 1),
    // mov %fs:0,%rax; mov $0x38,%al; movzbl %al,%eax; syscall; hlt
    ("al_of_unknown_extended", "64488b042500000000b0380fb6c00f05f4", &[56], 0),
    // xor %eax,%eax; mov $1,%ah; mov $0x2c,%al; syscall; hlt
    ("ah", "31c0b401b02c0f05f4", &[300], 0),
    // mov $0x1234,%ecx; movzbl %ch,%eax; syscall; hlt
    ("ah_extended", "b9341200000fb6c50f05f4", &[18], 0),
    // mov $0xffff0000,%eax; mov $60,%ax; movzwl %ax,%eax; syscall; hlt
    ("ax_keeps_the_upper_half", "b80000ffff66b83c000fb7c00f05f4", &[60], 0),
    // mov %fs:0,%eax; mov $60,%ax; syscall; hlt
    ("ax_alone", "648b04250000000066b83c000f05f4", &[], 1),
    // mov $-1,%al; movsbl %al,%eax; neg %eax; mov $-61,%eax; neg %eax; mov $0xc3,%cl; movsbl %cl,%eax; add $100,%eax; syscall; hlt
    ("signs", "b0ff0fbec0f7d8b8c3fffffff7d8b1c30fbec183c0640f05f4", &[39], 0),
    // xor %eax,%eax; mov $0xff,%al; add $2,%al; or $0x3c,%al; dec %al; syscall; hlt
    ("byte_arithmetic", "31c0b0ff04020c3cfec80f05f4", &[60], 0),
    // mov $0x1ff,%eax; inc %al; syscall; hlt
    ("byte_carry_stays", "b8ff010000fec00f05f4", &[256], 0),
    // mov %fs:0,%rax; or $-1,%rax; add $61,%rax; syscall; hlt
    ("or_minus_one", "64488b0425000000004883c8ff4883c03d0f05f4", &[60], 0),
    // mov %fs:0,%rax; cmp %rsi,%rax; setne %al; movzbl %al,%eax; add $59,%eax; syscall; hlt
    ("setcc", "64488b0425000000004839f00f95c00fb6c083c03b0f05f4", &[59, 60], 0),
    // mov %fs:0,%rax; cmp %rsi,%rax; setne %al; syscall; hlt
    ("setcc_without_extension", "64488b0425000000004839f00f95c00f05f4", &[], 1),
    // mov $0x13c,%eax; xor %al,%al; syscall; hlt
    ("xor_byte", "b83c01000030c00f05f4", &[256], 0),
    // mov %fs:0,%rax; test %rax,%rax; je 1f; mov $60,%eax; 1: syscall; hlt
    ("zero_on_a_taken_edge", "64488b0425000000004885c07405b83c0000000f05f4", &[0, 60], 0),
    // mov %fs:0,%rax; test %rax,%rax; jne 1f; syscall; 1: hlt
    ("zero_on_the_other_edge", "64488b0425000000004885c075020f05f4", &[0], 0),
    // mov %fs:0,%eax; cmp $0x38,%eax; je 1f; hlt; 1: syscall; hlt
    ("equal_on_a_taken_edge", "648b04250000000083f8387401f40f05f4", &[56], 0),
    // mov %fs:0,%rax; cmp $0x38,%ax; je 1f; hlt; 1: syscall; hlt
    ("equal_word_of_an_unknown_half", "64488b0425000000006683f8387401f40f05f4", &[], 1),
    // mov %fs:0,%eax; cmp $0x38,%eax; jne 1f; hlt; 1: syscall; hlt
    ("not_equal_says_little", "648b04250000000083f8387501f40f05f4", &[], 1),
    // mov $5,%eax; test %rsi,%rsi; je 1f; mov $6,%eax; 1: cmp $5,%eax; je 2f; syscall; 2: hlt
    ("not_equal_removes", "b8050000004885f67405b80600000083f80574020f05f4", &[6], 0),
    // mov %fs:0,%eax; cmp $3,%eax; jae 1f; syscall; 1: hlt
    ("below_is_a_range", "648b04250000000083f80373020f05f4", &[0, 1, 2], 0),
    // mov (%rdi),%eax; cmp $2,%eax; ja 1f; syscall; 1: hlt
    ("what_the_caller_passes_stays", "8b0783f80277020f05f4", &[], 1),
    // mov %fs:0,%eax; cmp $2,%eax; ja 1f; syscall; 1: hlt
    ("range_by_above", "648b04250000000083f80277020f05f4", &[0, 1, 2], 0),
    // mov %fs:0,%eax; cmp $2,%eax; jg 1f; syscall; 1: hlt
    ("signed_says_little", "648b04250000000083f8027f020f05f4", &[], 1),
    // mov $-5,%rax; test %rsi,%rsi; je 1f; mov $6,%eax; 1: test %rax,%rax; js 2f; syscall; 2: hlt
    ("signed_of_known_values", "48c7c0fbffffff4885f67405b8060000004885c078020f05f4", &[6], 0),
    // mov %fs:0,%eax; test $0xfffffffc,%eax; jne 1f; syscall; 1: hlt
    ("bits_are_zero", "648b042500000000a9fcffffff75020f05f4", &[0, 1, 2, 3], 0),
    // mov %fs:0,%eax; cmp $0x38,%eax; add $1,%ecx; je 1f; hlt; 1: syscall; hlt
    ("flags_of_another_instruction", "648b04250000000083f83883c1017401f40f05f4", &[], 1),
    // mov %fs:0,%eax; cmp $0x38,%eax; mov %fs:8,%eax; je 1f; hlt; 1: syscall; hlt
    ("changed_after_the_comparison", "648b04250000000083f838648b0425080000007401f40f05f4", &[], 1),
    // mov %fs:0,%eax; cmp $5,%eax; ja 1f; je 2f; 1: hlt; 2: syscall; hlt
    ("flags_reach_the_next_block", "648b04250000000083f80577027401f40f05f4", &[5], 0),
    // mov %fs:0,%eax; sub $7,%eax; jne 1f; syscall; 1: hlt
    ("arithmetic_is_zero", "648b04250000000083e80775020f05f4", &[0], 0),
    // mov %fs:0,%eax; sub $3,%eax; jae 1f; syscall; 1: hlt
    ("order_after_arithmetic", "648b04250000000083e80373020f05f4", &[], 1),
    // mov %fs:0,%eax; cmp $1,%eax; je 1f; cmp $3,%eax; je 1f; hlt; 1: syscall; hlt
    ("switch_by_comparisons", "648b04250000000083f801740683f8037401f40f05f4", &[1, 3], 0),
    // push %rdi; mov (%rsp),%rax; cmpl $9,(%rsp); jne 1f; mov (%rsp),%eax; syscall; 1: hlt
    ("compared_slot", "57488b0424833c240975058b04240f05f4", &[9], 0),
    // mov %edi,%eax; cmp $12,%edi; jne 1f; syscall; 1: hlt
    ("copies_of_an_argument", "89f883ff0c75020f05f4", &[12], 0),
    // mov %fs:0,%rax; cmp $0x38,%rax; jne 1f; syscall; 1: hlt
    ("wide_and_narrow", "64488b0425000000004883f83875020f05f4", &[56], 0),
    // sub $16,%rsp; movl $0x100,(%rsp); movb $0x3c,(%rsp); movzbl (%rsp),%eax; syscall; hlt
    ("byte_stored", "4883ec10c7042400010000c604243c0fb604240f05f4", &[60], 0),
    // xor %eax,%eax; 1: inc %eax; cmp $1000000,%eax; jne 1b; syscall; hlt
    ("loop_stays_bounded", "31c0ffc03d40420f0075f70f05f4", &[1000000], 0),
    // mov $1,%eax; test %rsi,%rsi; jne 3f; 1: syscall; hlt; call 3f; 2: hlt; 3: mov $9,%eax; jmp 1b
    ("cold_part", "b8010000004885f675090f05f4e801000000f4b809000000ebf0", &[1, 9], 0),
    // sub $24,%rsp; movl $39,(%rsp); movl $57,(%rsp,%rdi,4); mov (%rsp),%eax; syscall; hlt
    ("store_through_an_index", "4883ec18c7042427000000c704bc390000008b04240f05f4", &[], 1),
    // push $39; mov %rsp,%rbp; movl $57,(%rdi,%rbp); mov (%rsp),%eax; syscall; hlt
    ("store_through_an_index_of_the_frame", "6a274889e5c7042f390000008b04240f05f4", &[], 1),
    // push $39; mov %rsp,%rax; add %rsi,%rax; movl $57,(%rax); mov (%rsp),%eax; syscall; hlt
    ("frame_address_plus_unknown", "6a274889e04801f0c700390000008b04240f05f4", &[], 1),
    // push $39; lea -4(%rsp,%rsi,4),%rax; movl $57,(%rax); mov (%rsp),%eax; syscall; hlt
    ("frame_address_through_lea", "6a27488d44b4fcc700390000008b04240f05f4", &[], 1),
    // push $39; mov %rsp,%rax; movq %rax,%xmm0; movq %xmm0,%rcx; movl $57,(%rcx); mov (%rsp),%eax; syscall; hlt
    ("frame_address_through_a_vector", "6a274889e066480f6ec066480f7ec1c701390000008b04240f05f4", &[], 1),
    // push $39; mov %fs:0,%rax; test %rsi,%rsi; je 1f; mov %rsp,%rax; 1: movl $57,(%rax); mov (%rsp),%eax; syscall; hlt
    ("frame_address_on_one_path", "6a2764488b0425000000004885f674034889e0c700390000008b04240f05f4", &[], 1),
    // push $39; mov %rsp,%rcx; mov %fs:0,%rax; cmp %rsi,%rdi; cmove %rcx,%rax; movl $57,(%rax); mov (%rsp),%eax; syscall; hlt
    ("frame_address_by_cmov", "6a274889e164488b0425000000004839f7480f44c1c700390000008b04240f05f4", &[], 1),
    // push $39; mov %rsp,%rax; and $-16,%rax; movl $57,(%rax); mov (%rsp),%eax; syscall; hlt
    ("frame_address_from_a_mask", "6a274889e04883e0f0c700390000008b04240f05f4", &[], 1),
    // push $39; mov %rsp,%rdi; mov $57,%eax; stosl; mov (%rsp),%eax; syscall; hlt
    ("string_instruction_into_the_frame", "6a274889e7b839000000ab8b04240f05f4", &[], 1),
    // push $39; mov %fs:0,%rcx; movl $57,(%rcx); mov (%rsp),%eax; syscall; hlt
    ("frame_that_nothing_points_to", "6a2764488b0c2500000000c701390000008b04240f05f4", &[39], 0),
    // push $39; mov %rsp,%rax; sub %rsp,%rax; mov %fs:0,%rcx; movl $57,(%rcx); mov (%rsp),%eax; syscall; hlt
    ("difference_of_frame_addresses", "6a274889e04829e064488b0c2500000000c701390000008b04240f05f4", &[39], 0),
    // push $39; sub $16,%rsp; movups %xmm0,(%rsp); mov %fs:0,%rcx; movl $57,(%rcx); mov 16(%rsp),%eax; syscall; hlt
    ("vector_stored_in_the_frame", "6a274883ec100f11042464488b0c2500000000c701390000008b4424100f05f4", &[39], 0),
    // push $39; push $1; movups %xmm0,(%rsp); mov 8(%rsp),%eax; syscall; hlt
    ("vector_stored_over_a_slot", "6a276a010f1104248b4424080f05f4", &[], 1),
    // push $39; mov %rsp,%rsi; xor %eax,%eax; syscall; mov (%rsp),%eax; syscall; hlt
    ("syscall_writes_the_frame", "6a274889e631c00f058b04240f05f4", &[0], 1),
    // push $39; xor %eax,%eax; syscall; mov (%rsp),%eax; syscall; hlt
    ("syscall_without_the_frame", "6a2731c00f058b04240f05f4", &[0, 39], 0),
    // mov $57,%ebx; mov (%rsp),%rdi; cmp $1,%rdi; jne 1f; mov $39,%ebx; call 3f; 1: mov %ebx,%eax; syscall; hlt; 3: mov $102,%eax; cmp $1,%rdi; je 2f; mov $60,%eax; 2: syscall; ret
    ("exit_on_one_path", "bb39000000488b3c244883ff01750abb27000000e80500000089d80f05f4b8660000004883ff017405b83c0000000f05c3", &[39, 57, 60, 102], 0),
    // mov $57,%ebx; mov (%rsp),%rdi; cmp $1,%rdi; jne 1f; mov $39,%ebx; call 3f; 1: mov %ebx,%eax; syscall; hlt; 3: cmp $1,%rdi; je 2f; mov $1,%edi; 2: mov $60,%eax; syscall; ret
    ("exit_on_all_paths", "bb39000000488b3c244883ff01750abb27000000e80500000089d80f05f44883ff017405bf01000000b83c0000000f05c3", &[57, 60], 0),
    // push $39; mov %rsp,%rdi; call 1f; hlt; 1: mov (%rdi),%eax; syscall; hlt
    ("behind_an_argument", "6a274889e7e801000000f48b070f05f4", &[39], 0),
    // push $39; mov %rsp,%rdi; call 1f; hlt; 1: movl $57,(%rdi); mov (%rdi),%eax; syscall; hlt
    ("behind_an_argument_after_a_store", "6a274889e7e801000000f4c707390000008b070f05f4", &[], 1),
    // push $39; mov %rsp,%rdi; call 1f; hlt; 1: mov $102,%eax; syscall; mov (%rdi),%eax; syscall; hlt
    ("behind_an_argument_after_a_syscall", "6a274889e7e801000000f4b8660000000f058b070f05f4", &[102], 1),
    // push $39; mov %rsp,%rdi; call 1f; hlt; 1: push %rbx; mov %rdi,%rbx; call 2f; mov (%rbx),%eax; syscall; hlt; 2: movl $57,(%rdi); ret
    ("behind_an_argument_after_a_call", "6a274889e7e801000000f4534889fbe8050000008b030f05f4c70739000000c3", &[], 1),
    // push $39; mov %rsp,%rdi; call 1f; hlt; 1: test %rsi,%rsi; je 2f; movl $57,(%rdi); 2: mov (%rdi),%eax; syscall; hlt
    ("behind_an_argument_on_one_path", "6a274889e7e801000000f44885f67406c707390000008b070f05f4", &[], 1),
    // push $39; mov %rsp,%rdi; call 1f; hlt; 1: push %rbx; mov (%rdi),%eax; syscall; hlt
    ("behind_an_argument_after_a_push", "6a274889e7e801000000f4538b070f05f4", &[39], 0),
    // push $39; mov $58,%eax; syscall; mov (%rsp),%eax; syscall; hlt
    ("slots_after_vfork", "6a27b83a0000000f058b04240f05f4", &[58], 1),
    // mov $39,%edi; call 1f; ud2; nop; nop; 1: mov %edi,%eax; syscall; ret
    ("padding_after_a_trap", "bf27000000e8040000000f0b909089f80f05c3", &[39], 0),
    // mov $39,%edi; call 1f; lea 1f(%rip),%rax; push %rax; movups (%rsp),%xmm0; movups %xmm0,(%rsi); hlt; 1: mov %edi,%eax; syscall; ret
    ("vector_copy_of_a_function_address", "bf27000000e810000000488d0509000000500f1004240f1106f489f80f05c3", &[39], 1),
    // mov $39,%edi; call 1f; lea 1f(%rip),%rax; push %rax; push (%rsp); hlt; 1: mov %edi,%eax; syscall; ret
    ("push_of_a_function_address_in_memory", "bf27000000e80c000000488d050500000050ff3424f489f80f05c3", &[39], 1),
    // mov $39,%edi; call 1f; push $0; push $0; lea 1f(%rip),%rax; push %rax; movups 8(%rsp),%xmm0; pop %rcx; hlt; 1: mov %edi,%eax; syscall; ret
    ("vector_copy_of_another_slot", "bf27000000e8130000006a006a00488d0508000000500f1044240859f489f80f05c3", &[39], 0),
    // call 2f; hlt; nop; nop; 1: mov %edi,%eax; syscall; ret; nop; 2: mov $39,%edi; call 1b; mov $60,%eax; syscall
    ("padding_after_a_call_that_does_not_return", "e809000000f4909089f80f05c390bf27000000e8f0ffffffb83c0000000f05", &[39, 60], 0),
];

#[rustfmt::skip]
const AARCH64: &[Case] = &[
    // mov x8, #64; svc #0; brk #0
    ("plain", "080880d2010000d4000020d4", &[64], 0),
    // mov x9, #64; sub sp, sp, #32; str x9, [sp, #16]; add x0, sp, #16; st1 {v0.2d}, [x0]; ldr x8, [sp, #16]; svc #0; brk #0
    ("vector_stored_over_a_slot", "090880d2ff8300d1e90b00f9e0430091007c004ce80b40f9010000d4000020d4", &[], 1),
    // mov x9, #64; sub sp, sp, #32; mov x29, sp; str x9, [sp, #16]; str q0, [x29, x1]; ldr x8, [sp, #16]; svc #0; brk #0
    ("vector_through_an_index", "090880d2ff8300d1fd030091e90b00f9a06ba13ce80b40f9010000d4000020d4", &[], 1),
    // sub sp, sp, #32; mov x29, sp; mov x1, #64; str x1, [x29, #16]; sub sp, sp, x2; mov x3, #1; str x3, [sp, #16]; ldr x8, [x29, #16]; svc #0; brk #0
    ("alloca", "ff8300d1fd030091010880d2a10b00f9ff6322cb230080d2e30b00f9a80b40f9010000d4000020d4", &[], 1),
    // mov x9, #64; sub sp, sp, #64; mov x29, sp; str x9, [x29, #32]; mov x9, sp; and sp, x9, #0xffffffffffffffe0; mov x3, #1; str x3, [sp, #32]; ldr x8, [x29, #32]; svc #0; brk #0
    ("aligned_stack", "090880d2ff0301d1fd030091a91300f9e90300913fe97b92230080d2e31300f9a81340f9010000d4000020d4", &[], 1),
    // sub sp, sp, #32; mov x9, #64; str x9, [sp]; mov x1, sp; cmp x3, #0; csinc x0, x1, x2, eq; mov x4, #1; str x4, [x0]; ldr x8, [sp]; svc #0; brk #0
    ("frame_address_by_csinc", "ff8300d1090880d2e90300f9e10300917f0000f12004829a240080d2040000f9e80340f9010000d4000020d4", &[], 1),
    // sub sp, sp, #32; mov x9, #64; str x9, [sp, #8]; mov x0, sp; ldpsw x1, x2, [x0], #8; mov x3, #1; str x3, [x0]; ldr x8, [sp, #8]; svc #0; brk #0
    ("base_after_a_pair", "ff8300d1090880d2e90700f9e00300910108c168230080d2030000f9e80740f9010000d4000020d4", &[], 1),
    // sub sp, sp, #32; mov x9, #64; str x9, [sp]; mov x0, sp; cmp x0, x3; ccmp x1, #4, #0, eq; ldr x8, [sp]; svc #0; brk #0
    ("slot_beside_comparisons", "ff8300d1090880d2e90300f9e00300911f0003eb200844fae80340f9010000d4000020d4", &[64], 0),
];

fn numbers_are_those_of_the_bytes() -> TestResult {
    check(62, CASES);
    Ok(())
}

fn numbers_are_those_of_the_bytes_of_aarch64() -> TestResult {
    check(183, AARCH64);
    Ok(())
}

fn check(machine: u16, cases: &[Case]) {
    let mut wrong = Vec::new();
    for (name, code, numbers, unknown) in cases {
        let analysis = analysis(machine, code);
        let found: Vec<u32> = analysis.calls.keys().copied().collect();
        if found != *numbers || analysis.unresolved.len() != *unknown {
            let sites = &analysis.unresolved;
            wrong.push(format!("{name}: {found:?}, not {numbers:?}; unknown {sites:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
