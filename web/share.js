// The state of the page in the fragment of its address, which browsers do not send to servers.
//
// Others may have written the address, so nothing of it reaches the page before its size is known: it is decompressed in
// pieces up to a limit, and the texts have lower limits than those of a file.

import { LINK, MAX_WORD, excess, linesOf } from "./limits.js";

/** The maximum length of a fragment: longer addresses are cut by mail programs and chats. */
const MAX_FRAGMENT = 32_000;
const PREFIX = "v1=";

/** The maximum number of bytes in a fragment: texts and the controls as JSON, in UTF-8. */
const MAX_BYTES = 4 * LINK.characters;

/** The number of compressed bytes that are decompressed at once: deflate makes at most 1,032 bytes of one. */
const PIECE = 64;

/** Larger states are opened only after a question. */
const LARGE = { characters: 1 << 15, lines: 2000 };

/** The keys of a state with a filter or a log, and what each is. */
const WHAT = { text: "The filter in the link", before: "The filter to compare with in the link", log: "The log in the link", tests: "The tests in the link" };
const FILTERS = Object.keys(WHAT);

const grouped = (number) => number.toLocaleString("en");

/** The fragment for a state, or `tooLong`. */
export async function fragmentOf(state) {
  const failure = refusal(state);
  if (failure) return { tooLong: `${failure} Send the file instead.` };
  const kept = Object.entries(state).filter(([, value]) => value !== "" && value !== false);
  const bytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(kept)));
  if (bytes.length > MAX_BYTES) {
    return { tooLong: `The link would hold ${grouped(bytes.length)} bytes, and the limit is ${grouped(MAX_BYTES)}. Send the file instead.` };
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  const fragment = PREFIX + base64(packed);
  if (fragment.length <= MAX_FRAGMENT) return { fragment };
  return { tooLong: `The address would have ${grouped(fragment.length)} characters, and the limit is ${grouped(MAX_FRAGMENT)}. Send the file instead.` };
}

/**
 * The state in a fragment, with a `question` if it is large, or `failure`; null if the fragment has none.
 */
export async function stateOf(fragment) {
  if (!fragment.startsWith(PREFIX)) return null;
  if (fragment.length > MAX_FRAGMENT) {
    return { failure: `The link has ${grouped(fragment.length)} characters, and this page opens at most ${grouped(MAX_FRAGMENT)}. Ask for the file instead.` };
  }
  const failure = "The address does not contain a whole filter: a part of it is missing.";
  let state;
  try {
    const text = await unpacked(bytesOf(fragment.slice(PREFIX.length)));
    if (text === null) {
      return { failure: `The link holds more than ${grouped(MAX_BYTES)} bytes, and this page opens at most that many from a link. Ask for the file instead.` };
    }
    state = JSON.parse(text);
  } catch {
    return { failure };
  }
  if (typeof state !== "object" || state === null || Array.isArray(state)) return { failure };
  const refused = refusal(state);
  if (refused) return { failure: `${refused} Ask for the file instead.` };
  return { state, question: question(state) };
}

/** Why a state is not put into a link, or not read from it; null if it is within the limits. */
function refusal(state) {
  for (const [key, value] of Object.entries(state)) {
    if (typeof value !== "string") continue;
    if (FILTERS.includes(key)) {
      const why = excess(value, LINK, WHAT[key]);
      if (why) return why;
    } else if (value.length > MAX_WORD) {
      return `An option in the link has ${grouped(value.length)} characters, and the limit is ${grouped(MAX_WORD)}.`;
    }
  }
  return null;
}

/** What to ask before a large state is opened; null for usual ones. */
function question(state) {
  const texts = FILTERS.map((key) => state[key]).filter((text) => typeof text === "string");
  const sum = (size) => texts.reduce((all, text) => all + size(text), 0);
  const [characters, lines] = [sum((text) => text.length), sum((text) => (text === "" ? 0 : linesOf(text)))];
  if (characters <= LARGE.characters && lines <= LARGE.lines) return null;
  return `This link holds ${grouped(Math.ceil(characters / 1000))} kB of text in ${grouped(lines)} lines, which replaces what the page shows. Open it?`;
}

/** Decompresses at most `MAX_BYTES`; null if there are more. What follows is neither decompressed nor kept. */
async function unpacked(packed) {
  const { readable, writable } = new DecompressionStream("deflate-raw");
  const [writer, reader] = [writable.getWriter(), readable.getReader()];
  let isOver = false;
  // In pieces, because a browser decompresses what it is given at once, whether or not somebody reads the result.
  const feed = async () => {
    for (let at = 0; at < packed.length && !isOver; at += PIECE) {
      await writer.ready;
      await writer.write(packed.subarray(at, at + PIECE));
    }
    if (!isOver) await writer.close();
  };
  // The reader reports what is wrong with the content.
  const fed = feed().catch(() => {});
  const chunks = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > MAX_BYTES) {
      isOver = true;
      await reader.cancel();
      await writer.abort().catch(() => {});
      await fed;
      return null;
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
