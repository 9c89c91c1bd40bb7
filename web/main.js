// The page: connects the controls with the core.

import { begin, connectBusy, end } from "./busy.js";
import { FIELDS, MACHINE, controls, current, restore } from "./controls.js";
import { Core } from "./core.js";
import { keep, keepWhenLeft, kept } from "./draft.js";
import { openEditors } from "./editors.js";
import { EXAMPLES } from "./examples.js";
import { connectFiles } from "./files.js";
import { connectLinks } from "./links.js";
import { notify } from "./notice.js";
import { offer, offerExamples } from "./offer.js";
import { connectPanel, retry, show, showFailure, showNothing } from "./panel.js";
import { connectPlaces, goTo } from "./places.js";
import { asks, dismiss } from "./question.js";
import { namesOf, requestOf, textsOf } from "./request.js";
import { fragmentOf, stateOf } from "./share.js";
import { connectTabs, selectTab } from "./tabs.js";
import { parsed } from "./trusted.js";
import { connectUndo, replacing } from "./undo.js";

/** The time after the last key press, in milliseconds. While the core answers, only the newest text waits. */
const PAUSE = 10;

/** How often the core answers an example before an answer is needed. */
const WARMING = 5;

const core = new Core();
const get = (id) => document.getElementById(id);
let timer;
let asked = 0;
let opened = 0;
let isStarted = false;
/** Whether the page still shows the answer that it was built with. */
let isBuiltIn = false;

/** Asks for what the controls say. Only the newest answer is shown. */
async function ask() {
  clearTimeout(timer);
  // Before, the choices are empty.
  if (!isStarted) return;
  const number = ++asked;
  forgetTests();
  const state = current();
  keep(draft);
  const request = requestOf(state);
  const about = { view: state.view, names: namesOf(state), texts: textsOf(state) };
  if (request === null || request.tooLong) {
    end();
    return request === null ? showNothing() : showFailure(request.tooLong, { view: state.view });
  }
  if (!isBuiltIn) begin();
  isBuiltIn = false;
  const answer = await core.ask(request);
  if (number !== asked) return;
  end();
  // Something else has asked meanwhile.
  if (answer === null) return;
  if (answer.log && state.view !== "denied") return moveToLog(state);
  if (answer.failure) {
    showFailure(answer.failure, about);
    return answer.isOfLoading ? retry().then(ask) : undefined;
  }
  show(answer, about);
  document.documentElement.dataset.answered = "";
}

/** The tests of an example are not about a filter that replaces it. */
function forgetTests() {
  const own = EXAMPLES.find(({ state }) => state.tests !== undefined && state.tests === get("tests").value);
  if (own !== undefined && get("text").dataset.name !== own.state.name) get("tests").value = "";
}

/** What is kept for the next visit: nothing if there is no text, or the first example as it is. */
function draft() {
  const state = current();
  const [{ state: first }] = EXAMPLES;
  const isFirst = state.text === first.text && state.tests === first.tests && state.view === first.view && state.before === "" && state.log === "";
  return isFirst || FIELDS.every((id) => state[id].trim() === "") ? null : state;
}

function askSoon() {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
}

/** A log in place of the filter is what was denied. */
function moveToLog(state) {
  restore({ ...state, text: "", name: "", log: state.text, view: "denied" });
  notify("This is a log, so it is in the field for logs. Paste the filter into the other field for the rule and a change.");
  return ask();
}

/** Shows a text that was opened or dropped. */
function place(field, name, text) {
  replacing("opening");
  get(field).value = text;
  get(field).dataset.name = name;
  get("lesson").textContent = "";
  ask();
}

/** Shows a state in place of the present one. */
function replaceBy(state) {
  restore(state);
  get("lesson").textContent = "";
  ask();
}

function choose({ state, lesson }) {
  replacing("example");
  // The machine and the kernel are not what an example is about.
  const { machine, kernel, systemd, to } = current();
  restore({ machine, kernel, systemd, to, ...state });
  get("lesson").textContent = lesson;
  ask();
}

async function share() {
  const result = await fragmentOf(current());
  if (result.tooLong) return notify(result.tooLong);
  history.replaceState(null, "", `#${result.fragment}`);
  try {
    await navigator.clipboard.writeText(location.href);
    notify("The address with the filter is copied. It is also in the address bar, for a bookmark.");
  } catch {
    notify("The address bar has the filter now: copy or bookmark it.");
  }
}

/** Restores what the fragment of the address has; false if it has nothing, or is large, which is a question. */
async function open() {
  dismiss();
  // The newest address counts.
  const number = ++opened;
  const result = await stateOf(location.hash.slice(1));
  if (result === null || number !== opened) return false;
  if (result.failure) notify(result.failure);
  else if (result.question) openIfWanted(result, number);
  else openState(result.state);
  return !result.failure && !result.question;
}

function openState(state) {
  if (isStarted) replacing("link");
  restore(state);
  get("lesson").textContent = "";
}

async function openIfWanted({ state, question }, number) {
  const isWanted = await asks(question, "Open");
  if (number !== opened) return;
  if (!isWanted) return notify("The link was not opened.");
  openState(state);
  await ask();
}

/** Goes to the rule about a syscall of the filter: to a known line and column, or to the one that decides without arguments. */
async function follow(arch, syscall, known) {
  if (known && goTo(`${namesOf(current()).text}:${known.line}:${known.column}`)) return;
  const state = { ...current(), view: "simulate", call: syscall, "call-arch": arch };
  const answer = await core.ask(requestOf(state));
  if (!answer?.ok) return;
  const place = parsed(answer.body).querySelector(".position")?.textContent;
  if (place === undefined || !goTo(place)) notify(`${answer.status}. No place in the text decides it.`);
}

function connect() {
  // Fields are replaced by editors, so their events are caught above them. The browser's own events in an editor come before
  // the editor has read the change; it sends one of its own.
  const isRead = ({ target, isTrusted }) => FIELDS.includes(target.id) && (target instanceof HTMLTextAreaElement || !isTrusted);
  addEventListener("input", (event) => isRead(event) && askSoon(), { capture: true });
  for (const id of controls.filter((id) => !FIELDS.includes(id))) {
    const element = get(id);
    const isText = element.matches("input[type=text]");
    element.addEventListener(isText ? "input" : "change", isText ? askSoon : ask);
  }
  for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
  connectTabs(ask);
  connectFiles(place);
  connectLinks();
  connectPlaces();
  connectBusy(() => core.stop());
  connectUndo(current, replaceBy);
  connectPanel({
    follow,
    read: (name) => place("text", "", `${name}\n`),
    apply(text) {
      replacing("change");
      get("text").value = text;
      ask();
    },
  });
  keepWhenLeft(draft);
  get("share").addEventListener("click", share);
  get("clear").addEventListener("click", () => {
    replacing("Clear");
    for (const id of FIELDS) get(id).value = "";
    get("text").dataset.name = "";
    get("lesson").textContent = "";
    ask();
    get("text").focus();
  });
  get("swap").addEventListener("click", () => {
    const [text, before] = [get("text"), get("before")];
    [text.value, before.value] = [before.value, text.value];
    [text.dataset.name, before.dataset.name] = [before.dataset.name ?? "", text.dataset.name ?? ""];
    ask();
  });
  addEventListener("hashchange", async () => (await open()) && ask());
}

/** What the page offers: lists of names, from the file that is built with the module. */
async function about() {
  for (;;) {
    try {
      const response = await fetch("about.json");
      if (!response.ok) throw new Error(`about.json: ${response.status}`);
      return await response.json();
    } catch (error) {
      showFailure(`The page cannot be loaded: ${error.message}`);
      await retry();
    }
  }
}

async function start() {
  const last = kept();
  // The answer in the page is about the first example.
  const isFirst = last === null && !location.hash.startsWith("#v1=");
  if (!isFirst) {
    get("text").value = "";
    showNothing("Loading…");
  }
  connect();
  const offered = await about();
  offer(offered);
  offerExamples(EXAMPLES, choose);
  const typed = get("text").value;
  selectTab("explanation");
  if (last !== null) restore({ machine: MACHINE, ...last });
  const isOpened = await open();
  if (isFirst && !isOpened) {
    const [{ state, lesson }] = EXAMPLES;
    // Somebody may have been faster than the page.
    if (typed === "" || typed === state.text) {
      restore({ ...current(), ...state });
      get("lesson").textContent = lesson;
      isBuiltIn = get("body").hasChildNodes();
    }
  }
  isStarted = true;
  await ask();
  await openEditors(offered.syscalls);
  // What the first answer did not need. Without a network, the request that needs it says so.
  const rest = core.complete().catch(() => {});
  document.documentElement.dataset.ready = "";
  const [{ state }] = EXAMPLES;
  const source = { text: state.text, name: state.name, machine: MACHINE, kernel: "6.18" };
  for (let round = 0; round < WARMING; round++) await core.warm({ view: "explanation", source });
  // Keeps the page for use without a network, where browsers permit it; what is loaded is not loaded again.
  await rest;
  if ("serviceWorker" in navigator) await core.keepOffline();
}

start().catch((error) => showFailure(`The page cannot start: ${error.message}`));
