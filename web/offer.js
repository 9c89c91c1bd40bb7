// Fills the choices of the page.

import { MACHINE } from "./controls.js";
import { setNewest } from "./request.js";

const get = (id) => document.getElementById(id);

function option(name, title = name) {
  const element = document.createElement("option");
  [element.value, element.textContent] = [name, title];
  return element;
}

function group(label, options) {
  const element = document.createElement("optgroup");
  element.label = label;
  element.append(...options);
  return element;
}

/** The names that the core knows. */
export function offer(about) {
  get("format").append(...about.formats.map((name) => option(name)));
  get("machine").append(...about.arches.map((name) => option(name)));
  get("machine").value = MACHINE;
  get("call-arch").append(...about.arches.map((name) => option(name)));
  get("syscalls").append(...about.syscalls.map(({ name }) => option(name)));
  get("to").append(
    group("Policies", about.targets.map((name) => option(name))),
    group("Programs", about.code.map(({ name, title }) => option(name, title))),
  );
  get("systemd").placeholder = about.systemd_version;
  setNewest(about.systemd_version);
  get("version").textContent = about.version;
}

/** A button for each example. */
export function offerExamples(examples, choose) {
  for (const example of examples) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = example.title;
    button.addEventListener("click", () => choose(example));
    get("examples").append(button);
  }
}
