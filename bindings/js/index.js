// Callgate in JavaScript: the WebAssembly module, and one method per request.

/** Why there is no result: all messages, with positions. */
export class CallgateError extends Error {
  constructor(diagnostics) {
    const errors = diagnostics.filter((one) => one.severity === "error");
    super(errors.map(describe).join("\n"));
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
export async function load(from = new URL("callgate.wasm", import.meta.url)) {
  if (from instanceof WebAssembly.Module) return new Callgate(from);
  if (!(from instanceof URL) && typeof from !== "string") return new Callgate(await WebAssembly.compile(from));
  const url = new URL(from, import.meta.url);
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return new Callgate(await WebAssembly.compile(await readFile(url)));
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return new Callgate(await WebAssembly.compile(await response.arrayBuffer()));
}

/** The memory of an instance that is kept for further requests, in bytes. */
const KEPT_MEMORY = 16 << 20;

export class Callgate {
  #module;
  #instance = null;

  constructor(module) {
    this.#module = module;
  }

  /** The answer to a request, both as text. */
  answer(request) {
    const bytes = new TextEncoder().encode(request);
    const instance = this.#instance ?? new WebAssembly.Instance(this.#module);
    // If it traps, its state is unknown, and the next request has a new one.
    this.#instance = null;
    const { memory, callgate_alloc, callgate_answer, callgate_free } = instance.exports;
    const address = callgate_alloc(bytes.length) >>> 0;
    new Uint8Array(memory.buffer, address, bytes.length).set(bytes);
    const packed = BigInt.asUintN(64, callgate_answer(address, bytes.length));
    const [start, length] = [Number(packed >> 32n), Number(packed & 0xffffffffn)];
    const text = new TextDecoder().decode(new Uint8Array(memory.buffer, start, length));
    if (memory.buffer.byteLength <= KEPT_MEMORY) {
      callgate_free(start, length);
      this.#instance = instance;
    }
    return text;
  }

  /** The result of a request; an error is a CallgateError. */
  request(request) {
    const { result, warnings, errors } = JSON.parse(this.answer(JSON.stringify(request)));
    if (errors) throw new CallgateError(errors);
    return { ...result, warnings };
  }

  compile(source, { machine, ...options }) {
    return this.request({ request: "compile", machine, source, options });
  }

  optimize(source, { machine, ...options }) {
    return this.request({ request: "optimize", machine, source, options });
  }

  merge(sources, { machine, ...options }) {
    return this.request({ request: "merge", machine, sources, options });
  }

  explain(source, { machine, syscalls }) {
    return this.request({ request: "explain", machine, source, syscalls });
  }

  diff(a, b, { machine, max }) {
    return this.request({ request: "diff", machine, a, b, max });
  }

  subset(a, b, { machine, max }) {
    return this.request({ request: "subset", machine, a, b, max });
  }

  simulate(source, call, { machine, ...options }) {
    return this.request({ request: "simulate", machine, source, options, ...call });
  }
}
