// Shows answers.

import { connectOutput, clearOutput } from "./output.js";
import { setHtml, visible } from "./trusted.js";

const get = (id) => document.getElementById(id);

/** Hints for a view that needs more input. */
const WAITS = {
  before: "Paste the filter to compare with into the second field.",
  call: "Enter a syscall, such as openat(AT_FDCWD, 0, O_RDWR). Arguments are numbers or constants; missing ones are 0.",
};

function note(text) {
  get("note").textContent = text;
  get("note").hidden = text === "";
}

/** An answer of the core. */
export function show(answer) {
  setHtml(get("messages"), answer.messages);
  get("status").textContent = visible(answer.status);
  linkPlaces(get("messages"));
  if (!answer.ok) return keepOld();
  setHtml(get("head"), answer.head);
  for (const part of [get("head"), get("body")]) part.classList.remove("stale");
  connectOutput(answer.file);
  if (answer.waits) {
    note(WAITS[answer.waits]);
    get("status").textContent = WAITS[answer.waits];
    return setHtml(get("body"), "");
  }
  note("");
  setHtml(get("body"), answer.body);
  for (const tree of get("body").querySelectorAll("[data-width]")) tree.style.setProperty("--width", tree.dataset.width);
  linkPlaces(get("body"));
}

/** The last answer stays for comparison, and is visibly not the present one. */
function keepOld() {
  clearOutput();
  const hasOld = get("body").hasChildNodes();
  note(hasOld ? "Below is the answer for the last text without errors." : "");
  for (const part of [get("head"), get("body")]) part.classList.toggle("stale", hasOld);
}

/** Why there is no answer, as text. */
export function showFailure(text) {
  const list = document.createElement("ul");
  const item = document.createElement("li");
  const chip = document.createElement("span");
  list.className = "findings";
  chip.className = "chip killed";
  chip.textContent = "error";
  item.append(chip, ` ${visible(text)}`);
  list.append(item);
  get("messages").replaceChildren(list);
  get("status").textContent = visible(text);
  keepOld();
}

/** Without a text. */
export function showNothing() {
  for (const id of ["head", "messages", "body"]) get(id).replaceChildren();
  clearOutput();
  get("status").textContent = "";
  note("Paste, drop or open a filter, or choose an example.");
}

/** Makes positions in the text clickable. */
function linkPlaces(root) {
  for (const place of root.querySelectorAll(".position")) {
    const [, name, line, column] = /^(.*):(\d+):(\d+)$/s.exec(place.textContent) ?? [];
    const field = [get("text"), get("before")].find((own) => (own.dataset.name || (own.id === "text" ? "filter" : "before")) === name);
    if (!field || field.value === "") continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "place";
    button.textContent = place.textContent;
    button.addEventListener("click", () => select(field, Number(line), Number(column)));
    place.replaceChildren(button);
  }
}

/** Selects the word at a position. */
function select(field, line, column) {
  const lines = field.value.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  const text = lines[line - 1] ?? "";
  // Columns count characters, and indices count UTF-16 units.
  const offset = [...text].slice(0, column - 1).join("").length;
  const length = /^[\w@~-]+/.exec(text.slice(offset))?.[0].length ?? 1;
  field.focus();
  field.setSelectionRange(before + offset, before + offset + length);
  const height = parseFloat(getComputedStyle(field).lineHeight) || 18;
  field.scrollTop = Math.max(0, (line - 1) * height - field.clientHeight / 2);
}
