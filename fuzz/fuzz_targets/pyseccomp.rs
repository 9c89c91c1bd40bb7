#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| callgate_fuzz_targets::run("pyseccomp", input));
