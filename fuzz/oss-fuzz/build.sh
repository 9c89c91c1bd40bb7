#!/bin/bash -eu
# Builds the fuzz targets for OSS-Fuzz, which sets SRC and OUT: each as a program, with its corpus.
cd "$SRC/callgate"
cargo fuzz build -O --debug-assertions
built=fuzz/target/x86_64-unknown-linux-gnu/release
for target in $(cargo fuzz list); do
  cp "$built/$target" "$OUT/"
  zip -qj "$OUT/${target}_seed_corpus.zip" "fuzz/corpus/$target"/*
done
