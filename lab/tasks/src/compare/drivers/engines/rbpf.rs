//! Measures rbpf: main PROGRAM INPUTS interpreter|jit packets|calls
//!
//! PROGRAM is eBPF. Inputs and output are those of bench.c. The program gets the address of `seccomp_data`, or
//! that of a packet's address and length.

use std::hint::black_box;
use std::panic;
use std::time::Instant;

use rbpf::EbpfVmMbuff;

/// The memory at r1, and the packet that the program may read. Both live until the end of the process and have no
/// other reference, because each run borrows them mutably.
struct Input {
    context: *mut [u8],
    packet: *mut [u8],
}

impl Input {
    fn new(bytes: &[u8], packets: bool) -> Input {
        let keep = |bytes: Vec<u8>| Box::into_raw(bytes.into_boxed_slice());
        if !packets {
            return Input { context: keep(bytes.to_vec()), packet: keep(Vec::new()) };
        }
        let packet = keep(bytes.to_vec());
        let words = [packet.cast::<u8>() as u64, bytes.len() as u64];
        Input { context: keep(words.map(u64::to_ne_bytes).concat()), packet }
    }
}

/// The best of seven rounds of at least four milliseconds, as in callgate-measure.
fn best(inputs: &[Input], run: &impl Fn(&Input) -> u32) -> f64 {
    let (mut least, mut turns, mut round) = (f64::INFINITY, 1u64, 0);
    while round < 7 {
        let start = Instant::now();
        for _ in 0..turns {
            for input in inputs {
                black_box(run(black_box(input)));
            }
        }
        let taken = start.elapsed().as_nanos() as f64;
        if taken < 4e6 {
            turns *= 2;
            continue;
        }
        round += 1;
        least = least.min(taken / turns as f64 / inputs.len() as f64);
    }
    least
}

fn report(inputs: &[Input], run: impl Fn(&Input) -> u32) {
    let hash = inputs.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, input| {
        (hash ^ u64::from(run(input))).wrapping_mul(0x0100_0000_01b3)
    });
    println!("{:.3} {:.3} {hash}", best(&inputs[..1], &run), best(&inputs[1..], &run));
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, program, inputs, variant, kind] = &arguments[..] else {
        return Err("four arguments, please".into());
    };
    let program = std::fs::read(program)?;
    let all = std::fs::read(inputs)?;
    let mut inputs = Vec::new();
    let mut rest = &all[4..];
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let (bytes, behind) = behind.split_at(u32::from_le_bytes(*length) as usize);
        inputs.push(Input::new(bytes, kind == "packets"));
        rest = behind;
    }
    let mut machine = EbpfVmMbuff::new(Some(&program))?;
    if variant == "interpreter" {
        report(&inputs, |input| {
            // SAFETY: they live, and there is no other reference.
            let (packet, context) = unsafe { (&*input.packet, &*input.context) };
            machine.execute_program(packet, context).expect("a value") as u32
        });
    } else {
        // The compiler panics if the page is full.
        panic::set_hook(Box::new(|why| {
            eprintln!(
                "its JIT compiler, which has one page for its code, fails: {}",
                why.payload_as_str().unwrap_or("a panic")
            );
        }));
        machine.jit_compile()?;
        report(&inputs, |input| {
            // SAFETY: they live, and there is no other reference. The code is that of a converted program, which
            // writes only to its stack and reads only the context and the packet.
            unsafe {
                let (packet, context) = (&mut *input.packet, &mut *input.context);
                machine.execute_program_jit(packet, context).expect("a value") as u32
            }
        });
    }
    Ok(())
}
