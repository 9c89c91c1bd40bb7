// The page: connects the controls with the core.

import { Core } from "./core.js";
import { examples } from "./examples.js";
import { MACHINE, controls, current, restore } from "./controls.js";
import { connectFiles } from "./files.js";
import { connectLinks } from "./links.js";
import { notify } from "./notice.js";
import { asks, dismiss } from "./question.js";
import { retry, show, showFailure, showNothing } from "./panel.js";
import { fragmentOf, stateOf } from "./share.js";
import { connectTabs, selectTab } from "./tabs.js";
import { namesOf, requestOf, textsOf } from "./request.js";

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

/** Asks for what the controls say. Only the newest answer is shown. */
async function ask() {
  clearTimeout(timer);
  // Before, the choices are empty.
  if (!isStarted) return;
  const number = ++asked;
  const state = current();
  const request = requestOf(state);
  if (request === null) return showNothing(state);
  if (request.tooLong) return showFailure(request.tooLong, { view: state.view });
  const answer = await core.ask(request);
  if (answer === null || number !== asked) return;
  const about = { view: state.view, names: namesOf(state), texts: textsOf(state) };
  if (answer.failure) return showFailure(answer.failure, about);
  show(answer, about);
}

function askSoon() {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
}

/** Shows a text that was opened, dropped or chosen. */
function place(field, name, text) {
  get(field).value = text;
  get(field).dataset.name = name;
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
  else restore(result.state);
  return !result.failure && !result.question;
}

async function openIfWanted({ state, question }, number) {
  const isWanted = await asks(question, "Open");
  if (number !== opened) return;
  if (!isWanted) return notify("The link was not opened.");
  restore(state);
  await ask();
}

function offer(about) {
  const option = (name, title = name) => {
    const element = document.createElement("option");
    [element.value, element.textContent] = [name, title];
    return element;
  };
  const group = (label, options) => {
    const element = document.createElement("optgroup");
    element.label = label;
    element.append(...options);
    return element;
  };
  get("format").append(...about.formats.map((name) => option(name)));
  get("machine").append(...about.arches.map((name) => option(name)));
  get("machine").value = MACHINE;
  get("call-arch").append(...about.arches.map((name) => option(name)));
  get("syscalls").append(...about.syscalls.map((name) => option(name)));
  get("to").append(
    group("Policies", about.targets.map((name) => option(name))),
    group("Programs", about.code.map(({ name, title }) => option(name, title))),
  );
  get("version").textContent = about.version;
  for (const example of examples(about)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = example.title;
    button.addEventListener("click", () => {
      get("format").value = "";
      place("text", example.name, example.text);
    });
    get("examples").append(button, " ");
  }
}

async function start() {
  for (const id of controls) {
    const element = get(id);
    const isText = element.matches("textarea, input[type=text]");
    element.addEventListener(isText ? "input" : "change", isText ? askSoon : ask);
  }
  for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
  connectTabs(ask);
  connectFiles(place);
  connectLinks();
  get("share").addEventListener("click", share);
  get("clear").addEventListener("click", () => {
    place("text", "", "");
    get("text").focus();
  });
  get("swap").addEventListener("click", () => {
    const [text, before] = [get("text"), get("before")];
    [text.value, before.value] = [before.value, text.value];
    [text.dataset.name, before.dataset.name] = [before.dataset.name ?? "", text.dataset.name ?? ""];
    ask();
  });
  addEventListener("hashchange", async () => (await open()) && ask());
  let about = await core.ask({ view: "about" });
  while (about.failure) {
    showFailure(about.failure);
    await retry();
    about = await core.ask({ view: "about" });
  }
  offer(about);
  isStarted = true;
  selectTab("explanation");
  await open();
  await ask();
  document.documentElement.dataset.ready = "";
  const source = { text: about.example, name: "example", machine: MACHINE, kernel: "6.18" };
  for (let round = 0; round < WARMING; round++) await core.warm({ view: "explanation", source });
  // Keeps the page for use without a network, where browsers permit it.
  if ("serviceWorker" in navigator) await core.keepOffline();
}

start().catch((error) => showFailure(`The page cannot start: ${error.message}`));
