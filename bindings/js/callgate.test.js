import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

import { CallgateError, load } from "./index.js";

const callgate = await load(new URL("../wasm/callgate.wasm", import.meta.url));
const vectors = new URL("../vectors/", import.meta.url);
const read = (name) => readFileSync(new URL(name, vectors), "utf8");

test("the answers are those of the native library", () => {
  const names = readdirSync(vectors).filter((name) => name.endsWith(".request.json"));
  assert.ok(names.length > 40);
  for (const name of names) {
    assert.equal(callgate.answer(read(name)), read(name.replace(".request.", ".answer.")), name);
  }
});

test("a program is equivalent to its source", () => {
  const source = { preset: "container-default", kernel: "6.12", arches: ["x86_64"] };
  const { program, proved } = callgate.compile(source, { machine: "x86_64" });
  assert.ok(proved);
  assert.ok(callgate.diff(source, { insns: program }, { machine: "x86_64" }).same);
});

test("an error has a position", () => {
  const source = { text: "POLICY p { ALLOW { wriet } }\nUSE p DEFAULT KILL", name: "p.kafel" };
  assert.throws(
    () => callgate.compile(source, { machine: "x86_64" }),
    (error) => error instanceof CallgateError && error.message.startsWith("p.kafel:1:20: ") &&
      error.diagnostics[0].help === "did you mean `write`?",
  );
});

test("giant inputs are errors, and requests work afterwards", () => {
  const options = { machine: "x86_64" };
  assert.throws(() => callgate.compile({ text: "[".repeat(33 << 20) }, options), CallgateError);
  assert.throws(() => callgate.compile({ text: "[".repeat(1 << 20) }, options), CallgateError);
  assert.ok(callgate.compile({ text: "POLICY p { ALLOW { read } } USE p DEFAULT KILL" }, options).proved);
});
