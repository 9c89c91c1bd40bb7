// Takes back what replaces a whole text: Clear, an example, a file, a link, a proposed change.

import { FIELDS } from "./controls.js";

const get = (id) => document.getElementById(id);

/** The state before a change, what changed it, and whether it is shown again by Redo. */
let last = null;
let restoreTo = null;
let read = null;

/** `current` returns the state of the page, `show` restores one and asks again. */
export function connectUndo(current, show) {
  [read, restoreTo] = [current, show];
  get("undo").addEventListener("click", () => {
    if (last === null) return;
    const { what, state, isRedo } = last;
    // Taking it back can be taken back: nothing that was written meanwhile is lost.
    last = { what, state: read(), isRedo: !isRedo };
    label();
    restoreTo(state);
  });
}

/** Notes the present state before something replaces it. */
export function replacing(what) {
  const state = read();
  if (FIELDS.every((key) => state[key].trim() === "")) return;
  last = { what, state, isRedo: false };
  label();
}

function label() {
  get("undo").hidden = false;
  get("undo").textContent = `${last.isRedo ? "Redo" : "Undo"} ${last.what}`;
}
