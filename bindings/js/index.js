// Callgate in JavaScript: the WebAssembly module, and one method per request.

/** Why there is no result: all messages, with positions. */
export class CallgateError extends Error {
  constructor(diagnostics, options) {
    const errors = diagnostics.filter((one) => one.severity === "error");
    super(errors.map(describe).join("\n"), options);
    this.name = "CallgateError";
    this.diagnostics = diagnostics;
  }
}

function describe({ source, line, column, message, help }) {
  const position = line === null ? "" : `:${line}:${column}`;
  const place = source === null ? "" : `${source}${position}: `;
  return `${place}${message}${help === "" ? "" : `\n  help: ${help}`}`;
}

/**
 * Loads the module: from bytes, from a compiled WebAssembly.Module, from a URL, or from the file of the package.
 */
export async function load(from = new URL("./callgate.wasm", import.meta.url)) {
  if (from instanceof WebAssembly.Module) return new Callgate(from);
  const bytes = from instanceof URL || typeof from === "string" ? await bytesOf(new URL(from, import.meta.url)) : from;
  try {
    return new Callgate(await WebAssembly.compile(bytes));
  } catch (cause) {
    throw badValue(`the module cannot be compiled: ${cause.message}`, "give the file callgate.wasm of this package", cause);
  }
}

/** A name that bundlers do not see: browsers have no such module, and need none. */
const FILES = "node:fs/promises";

async function bytesOf(url) {
  try {
    if (url.protocol === "file:") {
      const { readFile } = await import(/* @vite-ignore */ /* webpackIgnore: true */ FILES);
      return await readFile(url);
    }
    const response = await fetch(url);
    if (!response.ok) throw new Error(`status ${response.status}`);
    return await response.arrayBuffer();
  } catch (cause) {
    const help = "serve the file callgate.wasm of this package there, or give load() its bytes or its URL";
    throw badValue(`${url} cannot be read: ${cause.message}`, help, cause);
  }
}

/** The memory of an instance that is kept for further requests, in bytes. */
const KEPT_MEMORY = 16 << 20;

export class Callgate {
  #module;
  #keptMemory;
  #instantiate;
  #instance = null;

  constructor(module, keptMemory = KEPT_MEMORY, instantiate = (module) => new WebAssembly.Instance(module)) {
    this.#module = module;
    this.#keptMemory = keptMemory;
    this.#instantiate = instantiate;
  }

  /** The answer to a request, both as text. */
  answer(request) {
    const bytes = new TextEncoder().encode(request);
    const instance = this.#instance ?? this.#instantiate(this.#module);
    // If it traps, its state is unknown, and the next request has a new one.
    this.#instance = null;
    const { memory, callgate_alloc, callgate_answer, callgate_free } = instance.exports;
    const address = callgate_alloc(bytes.length) >>> 0;
    new Uint8Array(memory.buffer, address, bytes.length).set(bytes);
    const packed = BigInt.asUintN(64, callgate_answer(address, bytes.length));
    const [start, length] = [Number(packed >> 32n), Number(packed & 0xffffffffn)];
    const text = new TextDecoder().decode(new Uint8Array(memory.buffer, start, length));
    if (memory.buffer.byteLength <= this.#keptMemory) {
      callgate_free(start, length);
      this.#instance = instance;
    }
    return text;
  }

  /** The result of a request; an error is a CallgateError. */
  request(request) {
    const digits = (_, value) => (typeof value === "bigint" ? value.toString() : value);
    const { result, warnings, errors } = JSON.parse(this.answer(JSON.stringify(request, digits)));
    if (errors) throw new CallgateError(errors);
    return { ...result, warnings };
  }

  compile(source, options) {
    return this.request({ request: "compile", source, ...compiling(options) });
  }

  compileTemplate(source, options) {
    return new Template(this.request({ request: "template", source, ...compiling(options) }));
  }

  optimize(source, options) {
    return this.request({ request: "optimize", source, ...compiling(options) });
  }

  merge(sources, options) {
    return this.request({ request: "merge", sources, ...compiling(options) });
  }

  explain(source, { syscalls, ...options } = {}) {
    return this.request({ request: "explain", source, syscalls, ...onMachine(options) });
  }

  lint(source, { level, allow, ...options } = {}) {
    return this.request({ request: "lint", source, level, allow, ...onMachine(options) });
  }

  diff(a, b, { max, arguments: compared, ...options } = {}) {
    return this.request({ request: "diff", a, b, max, arguments: compared, ...onMachine(options) });
  }

  subset(a, b, { max, arguments: compared, ...options } = {}) {
    return this.request({ request: "subset", a, b, max, arguments: compared, ...onMachine(options) });
  }

  simulate(source, call, options) {
    return this.request({ request: "simulate", source, ...call, ...compiling(options) });
  }
}

/** The options of a request that compiles. */
function compiling({ machine, ...options } = {}) {
  return { ...onMachine({ machine }), options };
}

/** Other options stay in the request, which rejects those that it does not know. */
function onMachine({ machine = thisMachine(), ...others }) {
  return { machine, ...others };
}

/** The names of process.arch that differ from those of the request. */
const ARCHES = {
  x64: "x86_64",
  ia32: "x86",
  arm64: "aarch64",
  loong64: "loongarch64",
  ppc64: "ppc64le",
};

/** The architecture of this machine: that of the process in Node.js, Deno and Bun; browsers do not say it. */
function thisMachine() {
  const arch = globalThis.process?.arch ?? globalThis.Deno?.build?.arch;
  if (typeof arch !== "string") {
    throw badValue("the architecture of this machine is not known here", 'give the option machine, such as { machine: "x86_64" }');
  }
  return Object.hasOwn(ARCHES, arch) ? ARCHES[arch] : arch;
}

/** A program with variables, proved equivalent to its source for all of their values. */
export class Template {
  #program;
  #patches;

  constructor({ variables, patches, ...program }) {
    this.variables = variables;
    this.warnings = program.warnings;
    this.#program = program;
    this.#patches = patches;
  }

  /** The program for these values, one for each variable. It is not compiled again. */
  instantiate(values) {
    const names = this.variables.map(({ name }) => name);
    for (const name of Object.keys(values)) {
      if (!names.includes(name)) {
        throw badValue(`the policy has no variable "${name}"`, names.length === 0 ? "" : `its variables are ${names.join(", ")}`);
      }
    }
    const given = this.variables.map(({ name, bits }) => {
      if (!Object.hasOwn(values, name)) throw badValue(`the variable "${name}" has no value`);
      return fitting(name, bits, values[name]);
    });
    const program = this.#program.program.map((instruction) => [...instruction]);
    for (const { insn, variable, half, addend, complement } of this.#patches) {
      const sum = given[variable] + BigInt(addend);
      const value = complement ? ~sum : sum;
      program[insn][3] = Number(BigInt.asUintN(32, half === "high" ? value >> 32n : value));
    }
    return { ...this.#program, program };
  }
}

/**
 * A program as the bytes of struct sock_filter, in the byte order of its machines: for bwrap --seccomp, or seccomp(2). A program
 * without its byte order is a CallgateError: bytes in the wrong one are another program.
 */
export function toBytes({ program, endian }) {
  if (endian !== "little" && endian !== "big") {
    const help = "give the whole result, as in toBytes(callgate.compile(source))";
    throw badValue(`the byte order of the program is ${JSON.stringify(endian)}, not "little" or "big"`, help);
  }
  const view = new DataView(new ArrayBuffer(program.length * 8));
  const little = endian === "little";
  program.forEach(([code, jt, jf, k], index) => {
    view.setUint16(index * 8, code, little);
    view.setUint8(index * 8 + 2, jt);
    view.setUint8(index * 8 + 3, jf);
    view.setUint32(index * 8 + 4, k, little);
  });
  return new Uint8Array(view.buffer);
}

function badValue(message, help = "", cause = undefined) {
  const diagnostic = { severity: "error", source: null, line: null, column: null, message, help };
  return new CallgateError([diagnostic], cause && { cause });
}

/** A number, a bigint, or text such as "0x10" as a value of a variable. */
function fitting(name, bits, given) {
  const isExact = typeof given === "number" ? Number.isSafeInteger(given) : typeof given === "bigint";
  const isText = typeof given === "string" && /^(-?[0-9]+|0x[0-9a-f]+|0o[0-7]+|0b[01]+)$/i.test(given);
  if (!isExact && !isText) {
    throw badValue(`the value of "${name}" is ${JSON.stringify(given)}: give an integer, a bigint or text such as "0x10"`);
  }
  const value = BigInt(given);
  if (value < -(1n << BigInt(bits - 1)) || value >= 1n << BigInt(bits)) {
    throw badValue(`${value} does not fit into the variable "${name}", which has ${bits} bits`);
  }
  return BigInt.asUintN(bits, value);
}
