// Shows answers.

import { hiddenIn, visible } from "./hidden.js";
import { connectLights } from "./lights.js";
import { connectMaps } from "./map.js";
import { connectOutput, clearOutput } from "./output.js";
import { linkPlaces, markPlaces } from "./places.js";
import { connectSteps } from "./steps.js";
import { showTests } from "./tests.js";
import { setHtml } from "./trusted.js";

const get = (id) => document.getElementById(id);

/** Hints for a view that needs more input. */
const MISSING = {
  before: "Paste the filter to compare with into the second field.",
  log: "Paste a line of a log, a log, or the output of strace into the second field.",
  call: "Enter a syscall, such as openat(AT_FDCWD, 0, O_RDWR). Arguments are numbers or constants, or _ for any value; missing ones are 0.",
};

function note(text) {
  get("note").textContent = text;
  get("note").hidden = text === "";
}

/** The view whose answer the body shows. */
let shown = null;

/** What the page does with a change that an answer proposes, with a syscall of the map, and with the name of a profile. */
let actions = { apply: () => {}, follow: () => {}, read: () => {} };

export function connectPanel(given) {
  actions = given;
}

/** An answer of the core about a view of filters with these names and texts. */
export function show(answer, { view, names, texts }) {
  setHtml(get("messages"), answer.messages);
  get("status").textContent = visible(answer.status);
  warnAboutHidden(names, texts);
  showTests(answer.tests ?? null);
  linkPlaces(get("messages"), names);
  for (const button of get("messages").querySelectorAll("[data-source]")) {
    button.addEventListener("click", () => actions.read(button.dataset.source));
  }
  markPlaces(answer.marks ?? [], names);
  if (!answer.ok) return keepOld(view);
  setHtml(get("head"), answer.head);
  for (const part of [get("head"), get("body")]) part.classList.remove("stale");
  connectOutput(answer.file);
  shown = view;
  if (answer.missing) {
    note(MISSING[answer.missing]);
    get("status").textContent = MISSING[answer.missing];
    return setHtml(get("body"), "");
  }
  note("");
  setHtml(get("body"), answer.body);
  for (const tree of get("body").querySelectorAll("[data-width]")) tree.style.setProperty("--width", tree.dataset.width);
  linkPlaces(get("body"), names);
  reachScrolled();
  connectSteps(get("body"));
  connectMaps(get("body"), actions.follow);
  connectLights(get("body"), answer, texts.text);
  for (const button of get("body").querySelectorAll("[data-change]")) {
    const text = answer.changes[Number(button.dataset.change)];
    button.addEventListener("click", () => actions.apply(text));
  }
}

/** What is wider than its place is scrolled, also by keys. */
function reachScrolled() {
  for (const part of document.querySelectorAll("#body .wide:not([role])")) {
    const isScrolled = part.scrollWidth > part.clientWidth;
    if (isScrolled) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

addEventListener("resize", reachScrolled);
// Parts that open.
addEventListener("toggle", reachScrolled, { capture: true });

/** The last answer to the same view stays for comparison, and is visibly not the present one. */
function keepOld(view) {
  clearOutput();
  if (view !== shown) get("body").replaceChildren();
  note(get("body").hasChildNodes() ? "Below is the answer to the text before." : "");
  for (const part of [get("head"), get("body")]) part.classList.toggle("stale", part.hasChildNodes());
}

/** Why there is no answer about a view, as text. */
export function showFailure(text, { view, names, texts } = {}) {
  get("messages").replaceChildren(listOf([messageOf("error", text)]));
  get("status").textContent = visible(text);
  if (texts) {
    warnAboutHidden(names, texts);
    showTests(null);
    linkPlaces(get("messages"), names);
    markPlaces([], names);
  }
  keepOld(view);
}

function spanOf(style, text) {
  const span = document.createElement("span");
  span.className = style;
  span.textContent = visible(text);
  return span;
}

/** A message as the core writes them. */
function messageOf(severity, text, place) {
  const item = document.createElement("li");
  item.append(spanOf(severity === "error" ? "chip killed" : "chip conditional", severity), " ");
  if (place) item.append(spanOf("position", place), " ");
  item.append(visible(text));
  return item;
}

function listOf(items) {
  const list = document.createElement("ul");
  list.className = "findings";
  list.append(...items);
  return list;
}

/** Before the messages of the core: what in the texts is not as it looks. */
function warnAboutHidden(names, texts) {
  const items = [];
  for (const [id, text] of Object.entries(texts)) {
    const { places, more } = hiddenIn(text);
    for (const { line, column, text } of places) items.push(messageOf("warning", text, `${names[id]}:${line}:${column}`));
    if (more > 0) items.push(messageOf("warning", `${names[id]} has ${more.toLocaleString("en")} more of such characters`));
  }
  if (items.length === 0) return;
  get("messages").prepend(listOf(items));
  get("status").textContent += " Warning: the text is not as it looks.";
}

/** Offers to try again after a failure, and waits for it. */
export function retry() {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Try again";
  get("messages").append(button);
  return new Promise((resolve) => button.addEventListener("click", resolve, { once: true }));
}

/** Without a text. */
export function showNothing(why = "Paste, drop or open a filter, or choose an example.") {
  for (const id of ["head", "messages", "body"]) get(id).replaceChildren();
  for (const id of ["head", "body"]) get(id).classList.remove("stale");
  clearOutput();
  showTests(null);
  get("status").textContent = "";
  note(why);
  markPlaces([], {});
}
