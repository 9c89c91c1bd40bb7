// The state of the page in the fragment of its address, which browsers do not send to servers.

import { MAX_TEXT } from "./request.js";

/** The maximum length of a fragment: longer addresses are cut by mail programs and chats. */
const MAX_FRAGMENT = 32_000;
const PREFIX = "v1=";

/** The fragment for a state, or `tooLong`. */
export async function fragmentOf(state) {
  const kept = Object.entries(state).filter(([, value]) => value !== "" && value !== false);
  const bytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(kept)));
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  const fragment = PREFIX + base64(packed);
  if (fragment.length <= MAX_FRAGMENT) return { fragment };
  const [given, limit] = [fragment.length, MAX_FRAGMENT].map((length) => length.toLocaleString("en"));
  return { tooLong: `The address would have ${given} characters, and the limit is ${limit}. Send the file instead.` };
}

/** The state in a fragment, or `failure`; null if the fragment has none. */
export async function stateOf(fragment) {
  if (!fragment.startsWith(PREFIX)) return null;
  const failure = "The address does not contain a whole filter: a part of it is missing.";
  if (fragment.length > MAX_FRAGMENT) return { failure };
  try {
    const packed = bytesOf(fragment.slice(PREFIX.length));
    const text = await unpacked(packed, 4 * MAX_TEXT);
    const state = JSON.parse(text);
    return typeof state === "object" && state !== null && !Array.isArray(state) ? { state } : { failure };
  } catch {
    return { failure };
  }
}

/** Decompresses at most this number of bytes; more is an error. */
async function unpacked(packed, limit) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const chunks = [];
  let length = 0;
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > limit) {
      await reader.cancel();
      throw new Error("too long");
    }
    chunks.push(value);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(await new Blob(chunks).arrayBuffer());
}

function base64(bytes) {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function bytesOf(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}
