// Modules in two parts: the second one completes the first one of the same module, and of no other.

import assert from "node:assert/strict";
import { test } from "node:test";

import { counting, split } from "../split.mjs";

const section = (id, ...content) => [id, content.length, ...content];

/** A module whose function `one` returns a number, and `next` that of `one` plus 1. */
function module(number) {
  return Buffer.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, 1, 0x60, 0, 1, 0x7f),
    ...section(3, 2, 0, 0),
    ...section(4, 1, 0x70, 0, 1),
    ...section(5, 1, 0, 1),
    ...section(6, 1, 0x7f, 1, 0x41, 0, 0x0b),
    ...section(7, 3, 6, ...Buffer.from("memory"), 2, 0, 3, ...Buffer.from("one"), 0, 0, 4, ...Buffer.from("next"), 0, 1),
    ...section(9, 1, 0, 0x41, 0, 0x0b, 1, 0),
    ...section(10, 2, 4, 0, 0x41, number, 0x0b, 7, 0, 0x10, 0, 0x41, 1, 0x6a, 0x0b),
  ]);
}

const link = (first, second) => {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(first));
  new WebAssembly.Instance(new WebAssembly.Module(second), { first: instance.exports });
  return instance.exports;
};

test("a function of the second part traps until that part is there", () => {
  for (const part of [0, 1]) {
    const { first, second } = split(module(5), (number) => number === part);
    const alone = new WebAssembly.Instance(new WebAssembly.Module(first)).exports;
    assert.throws(() => (part === 0 ? alone.next() : alone.one()), WebAssembly.RuntimeError);
    const { one, next } = link(first, second);
    assert.deepEqual([one(), next()], [5, 6]);
  }
});

test("parts of different modules are not linked", () => {
  const [own, other] = [5, 9].map((number) => split(module(number), (at) => at === 1));
  assert.throws(() => link(own.first, other.second), WebAssembly.LinkError);
  assert.equal(link(other.first, other.second).next(), 10);
});

test("a counting module says which functions ran", () => {
  const { bytes, count } = counting(module(5));
  const { one, ran0, ran1 } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
  assert.deepEqual([count, one(), ran0.value, ran1.value], [2, 5, 1, 0]);
});
