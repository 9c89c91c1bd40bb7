// The last work, kept in this browser: a page that is closed by mistake loses nothing.
//
// Pages on one origin share its storage, so the key has the path. What is read was written by this page, and has the limits
// of fields all the same.

import { FIELDS } from "./controls.js";
import { FIELD, MAX_WORD, excess } from "./limits.js";

const KEY = `callgate ${location.pathname}`;

/** The time after a change, in milliseconds. */
const PAUSE = 400;

let timer;

/** Keeps the present state soon. `current` returns null if nothing is worth to be kept. */
export function keep(current) {
  clearTimeout(timer);
  timer = setTimeout(() => write(current()), PAUSE);
}

/** Keeps what is not kept yet when the page is left. */
export function keepWhenLeft(current) {
  addEventListener("pagehide", () => timer !== undefined && write(current()));
}

function write(state) {
  clearTimeout(timer);
  timer = undefined;
  try {
    if (state === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify(state));
  } catch {
    // No storage, or it is full. The page works without it.
  }
}

/** The state that was kept; null if there is none within the limits. */
export function kept() {
  try {
    const state = JSON.parse(localStorage.getItem(KEY) ?? "null");
    if (typeof state !== "object" || state === null || Array.isArray(state)) return null;
    const isRefused = ([key, value]) =>
      typeof value === "string" && (FIELDS.includes(key) ? excess(value, FIELD) !== null : value.length > MAX_WORD);
    return Object.entries(state).some(isRefused) ? null : state;
  } catch {
    return null;
  }
}
