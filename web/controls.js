// The state of the page: what its controls contain.

import { activeTab, selectTab } from "./tabs.js";

const OPTIONS = ["format", "machine", "arches", "kernel", "systemd", "caps", "runtime", "libseccomp", "enosys", "minijail", "set"];

/** The controls that are filters, logs and tests. */
export const FIELDS = ["text", "before", "log", "tests"];
const TEXTS = [...FIELDS, ...OPTIONS, "to", "call", "call-arch"];

/** On smaller screens, the answer has the place. */
const WIDE = "(min-width: 901px)";

/** The machine that is not worth a look at the options. */
export const MACHINE = "x86_64";

/** The identifiers of all controls that change the answer. */
export const controls = [...TEXTS, "closest"];

const get = (id) => document.getElementById(id);

/** What the controls contain. */
export function current() {
  const state = { view: activeTab(), closest: get("closest").checked };
  for (const id of TEXTS) state[id] = get(id).value;
  state.name = get("text").dataset.name ?? "";
  state.beforeName = get("before").dataset.name ?? "";
  return state;
}

/** Sets the controls. Values that a choice does not have are ignored. */
export function restore(state) {
  for (const id of TEXTS) {
    const value = typeof state[id] === "string" ? state[id] : "";
    const element = get(id);
    if (!(element instanceof HTMLSelectElement)) element.value = value;
    else if ([...element.options].some((option) => option.value === value)) element.value = value;
  }
  get("text").dataset.name = typeof state.name === "string" ? state.name : "";
  get("before").dataset.name = typeof state.beforeName === "string" ? state.beforeName : "";
  get("closest").checked = state.closest === true;
  if (OPTIONS.some((id) => get(id).value !== (id === "machine" ? MACHINE : ""))) get("options").open = true;
  if (get("tests").value.trim() !== "" && matchMedia(WIDE).matches) get("tests-field").open = true;
  selectTab(state.view);
}
