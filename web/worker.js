// Answers requests by the WebAssembly module: the first message is the module, each further one a request as text.

// The npm package of bindings/js.
import { Callgate } from "./callgate.js";

/** The memory of an instance that is kept for further requests, in bytes: more than in other programs, for fast answers. */
const KEPT_MEMORY = 64 << 20;

let callgate = null;

addEventListener("message", ({ data }) => {
  if (data instanceof WebAssembly.Module) {
    callgate = new Callgate(data, KEPT_MEMORY);
    // Now the time of a request is that of the module.
    postMessage({ ready: true });
    return;
  }
  try {
    postMessage(JSON.parse(callgate.answer(data)));
  } catch (error) {
    postMessage({ failure: `The core failed: ${error.message}. A filter that needs too much memory can be the reason.` });
  }
});
