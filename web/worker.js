// Answers requests by the WebAssembly module: the first message is the module, each further one a request as text.

/** The memory of an instance that is kept for further requests, in bytes. */
const KEPT_MEMORY = 64 << 20;

let module = null;
let instance = null;

function answer(request) {
  instance ??= new WebAssembly.Instance(module);
  const { memory, callgate_alloc, callgate_answer, callgate_free } = instance.exports;
  const bytes = new TextEncoder().encode(request);
  const address = callgate_alloc(bytes.length) >>> 0;
  new Uint8Array(memory.buffer, address, bytes.length).set(bytes);
  const packed = BigInt.asUintN(64, callgate_answer(address, bytes.length));
  const [start, length] = [Number(packed >> 32n), Number(packed & 0xffffffffn)];
  const text = new TextDecoder().decode(new Uint8Array(memory.buffer, start, length));
  if (memory.buffer.byteLength <= KEPT_MEMORY) callgate_free(start, length);
  else instance = null;
  return JSON.parse(text);
}

addEventListener("message", ({ data }) => {
  if (data instanceof WebAssembly.Module) {
    module = data;
    return;
  }
  try {
    postMessage(answer(data));
  } catch (error) {
    instance = null;
    postMessage({ failure: `The core failed: ${error.message}. A filter that needs too much memory can be the reason.` });
  }
});
