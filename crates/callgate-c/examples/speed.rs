//! Time to read and compile a profile through the C functions, through a request in JSON, and with the Rust library.
//!
//! `cargo run --release -p callgate-c --example speed -- profile.json`; without a file, container-default.

use std::ffi::c_char;
use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use callgate::{Arch, Options, compile};
use callgate_c::abi::{
    callgate_compile, callgate_program_free, callgate_source_free, callgate_source_set,
    callgate_source_text,
};
use callgate_formats::{CONTAINER_DEFAULT, oci};
use callgate_requests::json::Json;

const ROUNDS: usize = 200;
const ARCHES: [Arch; 3] = [Arch::X86_64, Arch::X86, Arch::X32];

fn main() {
    let profile = match std::env::args().nth(1) {
        Some(path) => std::fs::read_to_string(path).unwrap(),
        None => CONTAINER_DEFAULT.to_owned(),
    };
    let subjects: [(&str, &dyn Fn()); 3] = [
        ("Rust library", &|| rust(&profile)),
        ("C functions", &|| c(&profile)),
        ("callgate_requests::answer", &|| request(&profile)),
    ];
    let mut times = vec![Vec::new(); subjects.len()];
    for _ in 0..ROUNDS {
        for ((_, body), times) in subjects.iter().zip(&mut times) {
            let start = Instant::now();
            body();
            times.push(start.elapsed());
        }
    }
    for ((name, _), times) in subjects.iter().zip(&mut times) {
        times.sort();
        let in_ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let (least, median) = (in_ms(times[0]), in_ms(times[ROUNDS / 2]));
        println!("{name:26} minimum {least:.2} ms, median {median:.2} ms");
    }
}

fn rust(profile: &str) {
    let kernel = "6.12".parse().unwrap();
    let mut options = oci::ReadOptions::new(Arch::X86_64, kernel);
    options.arches = ARCHES.to_vec();
    let profile = oci::read(black_box(profile), &options).unwrap();
    black_box(compile(&profile.policy, &Options::default()).unwrap());
}

fn c(profile: &str) {
    let pair = |text: &str| (text.as_ptr().cast::<c_char>(), text.len());
    let ((text, length), error) = (pair(black_box(profile)), null_mut());
    let (mut source, mut program) = (null_mut(), null_mut());
    // SAFETY: all pointers are valid, and each object is freed once.
    unsafe {
        assert_eq!(callgate_source_text(text, length, &raw mut source, error), 0);
        for (key, value) in [("kernel", "6.12"), ("arches", "x86_64,x86,x32")] {
            let ((key, key_length), (value, value_length)) = (pair(key), pair(value));
            assert_eq!(callgate_source_set(source, key, key_length, value, value_length, error), 0);
        }
        assert_eq!(callgate_compile(source, null(), &raw mut program, error), 0);
        callgate_program_free(program);
        callgate_source_free(source);
    }
}

fn request(profile: &str) {
    let arches = Json::array(ARCHES.iter().map(|arch| arch.name()));
    let source = vec![("text", profile.into()), ("kernel", "6.12".into()), ("arches", arches)];
    let request = Json::Object(vec![
        ("request", "compile".into()),
        ("machine", "x86_64".into()),
        ("source", Json::Object(source)),
    ]);
    let answer = callgate_requests::answer(&request.to_string());
    assert!(black_box(answer).contains("\"proved\": true"));
}
