import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { CallgateError, load, toBytes } from "./index.js";

const callgate = await load();
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

test("the machine is that of the process", () => {
  const source = { text: "ALLOW { read } DEFAULT KILL", name: "p.kafel" };
  const arch = Object.getOwnPropertyDescriptor(process, "arch");
  try {
    for (const [name, machine] of [["x64", "x86_64"], ["arm64", "aarch64"], ["riscv64", "riscv64"]]) {
      Object.defineProperty(process, "arch", { ...arch, value: name });
      const made = callgate.compile(source);
      assert.deepEqual(made, callgate.compile(source, { machine }));
      assert.ok(made.arches.includes(machine), name);
      assert.deepEqual(callgate.compile(source, {}), made);
      const program = { insns: made.program };
      assert.ok(callgate.diff(source, program).same && callgate.subset(source, program).subset);
      assert.deepEqual(callgate.explain(source), callgate.explain(source, { machine }));
      assert.equal(callgate.simulate(source, { syscall: "read" }).permitted, true);
      assert.deepEqual(callgate.lint(source), callgate.lint(source, { machine }));
      assert.equal(callgate.merge([source]).proved, true);
      assert.equal(callgate.optimize(program).endian, "little");
      assert.deepEqual(callgate.compileTemplate(source).instantiate({}).program, made.program);
    }
    Object.defineProperty(process, "arch", { ...arch, value: undefined });
    assert.throws(() => callgate.compile(source), (error) => error instanceof CallgateError && error.message.includes("machine"));
    Object.defineProperty(process, "arch", { ...arch, value: "z80" });
    assert.throws(() => callgate.compile(source), (error) => error instanceof CallgateError && error.message.includes("z80"));
  } finally {
    Object.defineProperty(process, "arch", arch);
  }
});

test("bytes are in the order of the machine", () => {
  const source = { text: "ALLOW { read } DEFAULT KILL" };
  for (const machine of ["x86_64", "s390x"]) {
    const made = callgate.compile(source, { machine });
    const bytes = toBytes(made);
    assert.equal(bytes.length, 8 * made.insns);
    const hex = Buffer.from(bytes).toString("hex");
    assert.ok(callgate.diff({ hex, endian: made.endian, arches: made.arches }, source, { machine }).same, machine);
    for (const endian of [undefined, "Little"]) {
      assert.throws(() => toBytes({ ...made, endian }), (error) => error instanceof CallgateError && /byte order/.test(error.message));
    }
  }
});

test("a module that cannot be loaded is an error with its cause", async () => {
  const missing = new URL("./none.wasm", import.meta.url);
  const wrong = [[missing, /none\.wasm cannot be read/], [new Uint8Array(8), /cannot be compiled/], ["http://[::1]:1/x", /cannot be read/]];
  for (const [from, message] of wrong) {
    await assert.rejects(load(from), (error) => error instanceof CallgateError && message.test(error.message) && error.cause instanceof Error);
  }
});

test("the module is loaded from all that has it", async () => {
  const bytes = readFileSync(new URL("./callgate.wasm", import.meta.url));
  for (const from of [bytes, await WebAssembly.compile(bytes), "./callgate.wasm", new URL("./callgate.wasm", import.meta.url)]) {
    assert.ok((await load(from)).compile({ text: "ALLOW { read } DEFAULT KILL" }).proved);
  }
});

test("the examples in README.md have the output that is there", () => {
  const text = readFileSync(new URL("./README.md", import.meta.url), "utf8");
  const blocks = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
  assert.ok(blocks.length > 4);
  // Not every machine has bubblewrap.
  const code = blocks.join("").replace(/^const worker = spawn.*$/m, "");
  const expected = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, output]) => `${output}\n`);
  const { printed, filter } = ran(code);
  assert.equal(printed, expected.join(""));
  assert.ok(filter.length > 0 && filter.length % 8 === 0);
});

/** The first directory above this one that has docs/how-to/filters-in-javascript.md: the repository. Published packages are elsewhere. */
function repository() {
  let at = new URL(".", import.meta.url);
  for (let above = new URL("..", at); above.href !== at.href; above = new URL("..", at)) {
    if (existsSync(new URL("docs/how-to/filters-in-javascript.md", above))) return above;
    at = above;
  }
  return null;
}

test("the program in docs/how-to/filters-in-javascript.md writes the filter", { skip: repository() === null && "docs/how-to/filters-in-javascript.md is not here" }, () => {
  const page = readFileSync(new URL("docs/how-to/filters-in-javascript.md", repository()), "utf8");
  const [, code] = page.match(/^<!-- js -->\n```js\n(.*?)^```$/ms);
  const text = "ERRNO(1) { mkdir, mkdirat } DEFAULT ALLOW";
  assert.ok(code.includes(text));
  const { printed, filter } = ran(code);
  assert.equal(printed, "");
  assert.deepEqual(new Uint8Array(filter), toBytes(callgate.compile({ text })));
});

/** What a program prints, and the file that it writes. In the directory of the package, it knows the name of the package. */
function ran(code) {
  const directory = mkdtempSync(fileURLToPath(new URL("./readme-", import.meta.url)));
  try {
    writeFileSync(join(directory, "program.mjs"), code);
    const printed = execFileSync(process.execPath, ["program.mjs"], { cwd: directory, encoding: "utf8" });
    return { printed, filter: readFileSync(join(directory, "filter.bpf")) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("unknown options are errors", () => {
  const source = { text: "ALLOW { read } DEFAULT KILL", name: "p.kafel" };
  assert.throws(() => callgate.explain(source, { machin: "x86_64" }), CallgateError);
  assert.throws(() => callgate.compile(source, { modle: "cached" }), CallgateError);
});

test("an error has a position", () => {
  const source = { text: "POLICY p { ALLOW { wriet } }\nUSE p DEFAULT KILL", name: "p.kafel" };
  assert.throws(
    () => callgate.compile(source, { machine: "x86_64" }),
    (error) => error instanceof CallgateError && error.message.startsWith("p.kafel:1:20: ") &&
      error.diagnostics[0].help === "did you mean `write`?",
  );
});

test("lint finds mistakes, with examples", () => {
  const source = { text: "ALLOW { ptrace } DEFAULT KILL", name: "p.kafel" };
  const options = { machine: "x86_64", allow: ["needed-call"] };
  const { findings, silenced } = callgate.lint(source, options);
  assert.deepEqual(findings.map(({ id, line, column }) => [id, line, column]), [["powerful-call", 1, 9]]);
  assert.equal(findings[0].examples[0].text, "ptrace()");
  assert.equal(silenced, 4);
  assert.deepEqual(callgate.lint(source, { ...options, level: "error" }).findings, []);
  assert.throws(() => callgate.lint(source, { ...options, allow: ["ptrace"] }), CallgateError);
});

const sandbox = {
  text: "ALLOW { write { fd == $log }, read { count <= $limit }, mmap { (prot & ~$prot) == 0 } } DEFAULT KILL",
};
const x86 = { machine: "x86_64" };

test("a patched program is equivalent to the compilation of the values", () => {
  const template = callgate.compileTemplate(sandbox, x86);
  assert.deepEqual(template.variables[0], { name: "log", bits: 32 });
  for (const log of [0, 1, -1, "0x80000000"]) {
    for (const limit of [0, 4096n, (1n << 64n) - 1n, "0x100000000"]) {
      const values = { log, limit, prot: 3 };
      const { program } = template.instantiate(values);
      assert.ok(callgate.diff({ ...sandbox, set: values }, { insns: program }, x86).same, `${log}, ${limit}`);
    }
  }
});

test("values are those of the variables", () => {
  const template = callgate.compileTemplate(sandbox, x86);
  const good = { log: 1, limit: 2, prot: 3 };
  for (const [values, message] of [
    [{ log: 1, prot: 3 }, /"limit" has no value/],
    [{ ...good, lgo: 1 }, /no variable "lgo"/],
    [{ lgo: 1 }, /no variable "lgo"\n  help: its variables are log, limit, prot/],
    [{ ...good, log: 2 ** 32 }, /does not fit/],
    [{ ...good, limit: 1n << 64n }, /does not fit/],
    [{ ...good, limit: 2 ** 53 }, /bigint/],
    [{ ...good, limit: 1.5 }, /integer/],
    [{ ...good, limit: null }, /integer/],
    [{ ...good, limit: "O_RDWR" }, /integer/],
    [{ ...good, limit: "" }, /integer/],
    [{ ...good, limit: true }, /integer/],
  ]) {
    assert.throws(() => template.instantiate(values), (error) => error instanceof CallgateError && message.test(error.message));
  }
  assert.throws(() => callgate.compile(sandbox, x86), /values are needed/);
});

test("giant inputs are errors, and requests work afterwards", () => {
  const options = { machine: "x86_64" };
  assert.throws(() => callgate.compile({ text: "[".repeat(33 << 20) }, options), CallgateError);
  assert.throws(() => callgate.compile({ text: "[".repeat(1 << 20) }, options), CallgateError);
  assert.ok(callgate.compile({ text: "POLICY p { ALLOW { read } } USE p DEFAULT KILL" }, options).proved);
});
