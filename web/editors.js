// Replaces the plain fields by editors, after the first answer. Without the editor, the page works with plain fields.

import { FIELDS } from "./controls.js";
import { guard } from "./files.js";
import { ELSEWHERE, FIELD, excess } from "./limits.js";
import { notify } from "./notice.js";
import { markAgain } from "./places.js";
import { markTests } from "./tests.js";

const get = (id) => document.getElementById(id);

/** Loads the editor, and tells it about syscalls. */
export async function openEditors(syscalls) {
  let editor;
  try {
    editor = await import("./editor.js");
  } catch {
    // A page that was built without it, or no network.
    return;
  }
  editor.setSyscalls(syscalls);
  for (const id of FIELDS) replace(id, editor.FilterField);
  markAgain();
  markTests();
  try {
    const response = await fetch("constants.json");
    if (response.ok) editor.setConstants((await response.json()).constants);
  } catch {
    // Without a network, constants are not explained.
  }
}

/** Puts an editor in the place of a plain field, with its text, its caret and the focus. */
function replace(id, FilterField) {
  const plain = get(id);
  const field = new FilterField();
  const [start, end] = [plain.selectionStart, plain.selectionEnd];
  const hasFocus = document.activeElement === plain;
  const name = plain.dataset.name ?? "";
  const label = plain.labels[0];
  field.id = id;
  field.className = "editor";
  field.dataset.name = name;
  field.open({
    label: label.textContent,
    hint: plain.placeholder,
    text: plain.value,
    language: id === "tests" ? "tests" : null,
    refusal: (text) => excess(text, FIELD),
    refused: (why) => notify(`${why} ${ELSEWHERE}`),
  });
  field.addEventListener("beforeinput", guard, { capture: true });
  plain.replaceWith(field);
  // An editor cannot be labelled as a field is.
  label.addEventListener("click", () => field.focus());
  if (!hasFocus) return;
  field.setSelectionRange(start, end);
  field.focus();
}
