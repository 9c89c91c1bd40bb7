// Answers requests by the WebAssembly module: the first message is its first part, another module the rest, and a text a request.

// The npm package of bindings/js.
import { Callgate } from "./callgate.js";

/** The memory of an instance that is kept for further requests, in bytes: more than in other programs, for fast answers. */
const KEPT_MEMORY = 64 << 20;

let [first, callgate] = [null, null];
/** Whether the rest has come, and whether it is that of another version of the page. */
let [isWhole, isOutdated] = [false, false];
/** A request that needs the rest. */
let waiting = null;

addEventListener("message", ({ data }) => {
  if (!(data instanceof WebAssembly.Module)) return answer(data);
  if (first === null) {
    first = data;
    callgate = new Callgate(first, KEPT_MEMORY);
    // Now the time of a request is that of the module.
    return postMessage({ ready: true });
  }
  const whole = () => {
    const instance = new WebAssembly.Instance(first);
    // It puts its functions into the table of the first part.
    new WebAssembly.Instance(data, { first: instance.exports });
    return instance;
  };
  try {
    whole();
    callgate = new Callgate(first, KEPT_MEMORY, whole);
    isWhole = true;
  } catch {
    isOutdated = true;
  }
  if (waiting !== null) answer(waiting);
});

function answer(request) {
  waiting = null;
  try {
    postMessage(JSON.parse(callgate.answer(request)));
  } catch (error) {
    if (isOutdated) return postMessage({ failure: "The page has a new version: reload it." });
    if (isWhole) return postMessage({ failure: `The core failed: ${error.message}. A filter that needs too much memory can be the reason.` });
    // A function of the rest was called: the request begins again.
    waiting = request;
    postMessage({ needsRest: true });
  }
}
