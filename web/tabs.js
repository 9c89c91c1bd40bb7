// The tabs, as in the pattern of the ARIA Authoring Practices: arrow keys, Home and End choose one.

const tabs = () => [...document.querySelectorAll("[role=tab]")];
const view = (tab) => tab.id.slice("tab-".length);

export function activeTab() {
  return view(tabs().find((tab) => tab.getAttribute("aria-selected") === "true") ?? tabs()[0]);
}

/** Selects the tab of a view; an unknown view changes nothing. */
export function selectTab(name) {
  if (!tabs().some((tab) => view(tab) === name)) return;
  for (const tab of tabs()) {
    const isSelected = view(tab) === name;
    tab.setAttribute("aria-selected", String(isSelected));
    tab.tabIndex = isSelected ? 0 : -1;
    // On small screens, the tabs are a row that is scrolled.
    if (isSelected) tab.parentElement.scrollLeft = tab.offsetLeft - (tab.parentElement.clientWidth - tab.clientWidth) / 2;
  }
  document.getElementById("panel").setAttribute("aria-labelledby", `tab-${name}`);
  for (const [id, own] of [["before-field", "compare"], ["log-field", "denied"], ["convert-controls", "convert"], ["simulate-controls", "simulate"]]) {
    document.getElementById(id).hidden = name !== own;
  }
}

export function connectTabs(changed) {
  const choose = (tab) => {
    selectTab(view(tab));
    changed();
  };
  const list = document.getElementById("tabs");
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const all = tabs();
    const at = all.indexOf(event.target);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    const tab = all[next % all.length];
    tab.focus();
    choose(tab);
  });
}
