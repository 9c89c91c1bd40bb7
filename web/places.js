// Places in texts: from an answer to the text, and back.

import { FIELDS } from "./controls.js";

const get = (id) => document.getElementById(id);

/** The names of the fields in answers. */
let names = {};

/** The button that was followed to a field last. */
let origin = null;

/** What a place cites: a word, or a string. */
const WORD = /^(?:"(?:[^"\\]|\\.)*"|[\w@~-]+)/;

const PLACE = /^(.*):(\d+):(\d+)$/s;

/** The field, line and column of a place such as `filter:3:14`; null for other texts. */
function parse(place) {
  const [, name, line, column] = PLACE.exec(place) ?? [];
  const id = FIELDS.find((own) => name !== undefined && names[own] === name);
  return id === undefined || get(id).value === "" ? null : { id, line: Number(line), column: Number(column) };
}

/** Makes positions in the texts with these names clickable. */
export function linkPlaces(root, own) {
  names = own;
  for (const place of root.querySelectorAll(".position")) {
    const found = parse(place.textContent);
    if (found === null) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "place";
    button.textContent = place.textContent;
    [button.dataset.field, button.dataset.line] = [found.id, found.line];
    button.addEventListener("click", () => {
      origin = button;
      select(found);
    });
    place.replaceChildren(button);
  }
  showCited();
}

/** What the last answer cites. */
let cited = [];

/** Underlines the places that an answer cites. */
export function markPlaces(marks, own) {
  [cited, names] = [marks, own];
  markAgain();
}

/** The same in fields that are new. */
export function markAgain() {
  for (const id of FIELDS) {
    const places = cited.flatMap(({ place, severity, text }) => {
      const found = parse(place);
      return found?.id === id ? [{ ...found, severity, text }] : [];
    });
    get(id).mark?.(places);
  }
}

/** Selects the word at a position. */
function select({ id, line, column }) {
  const field = get(id);
  const lines = field.value.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  const text = lines[line - 1] ?? "";
  // Columns count characters, and indices count UTF-16 units.
  const offset = [...text].slice(0, column - 1).join("").length;
  const length = WORD.exec(text.slice(offset))?.[0].length ?? 1;
  field.focus();
  field.setSelectionRange(before + offset, before + offset + length);
  if (!(field instanceof HTMLTextAreaElement)) return;
  const height = parseFloat(getComputedStyle(field).lineHeight) || 18;
  field.scrollTop = Math.max(0, (line - 1) * height - field.clientHeight / 2);
}

/** Goes to a place such as `filter:3:14`; false if it is in none of the fields. */
export function goTo(place) {
  const found = parse(place);
  if (found !== null) select(found);
  return found !== null;
}

/** Marks what an answer says about the line of the caret. */
function showCited() {
  for (const button of document.querySelectorAll(".place")) {
    const field = get(button.dataset.field);
    const isHere = document.activeElement === field && field.line === Number(button.dataset.line);
    button.closest("li, .denial")?.classList.toggle("cited", isHere);
  }
}

/** Goes back to the answer that led to a field; an event that this answers is not for others. */
function back(event) {
  if (!origin?.isConnected) return;
  event.preventDefault();
  origin.focus();
  origin = null;
}

/** Escape goes back from a field to the answer that led there. */
export function connectPlaces() {
  addEventListener("caret", showCited);
  addEventListener("focusout", showCited);
  addEventListener("leave", back);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target instanceof HTMLTextAreaElement) back(event);
  });
}
