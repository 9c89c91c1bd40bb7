// The steps of a program: the rows of a table, one of which is the present one. Buttons and arrow keys move it.

/** Each table of steps in a body. */
export function connectSteps(body) {
  for (const section of body.querySelectorAll("#steps, #given-steps")) connect(section);
}

const KEYS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
const BUTTONS = [["First", -Infinity], ["Back", -1], ["Next", 1], ["Last", Infinity]];

function connect(section) {
  const rows = [...section.querySelectorAll(".steps tr")].slice(1);
  if (rows.length === 0) return;
  const title = section.querySelector("h2").textContent;
  const bar = document.createElement("div");
  bar.className = "stepper";
  const now = document.createElement("p");
  now.className = "now";
  now.setAttribute("aria-live", "polite");
  const buttons = BUTTONS.map(([name, by]) => {
    const button = document.createElement("button");
    button.type = "button";
    const rest = document.createElement("span");
    rest.className = "unseen";
    rest.textContent = ` (${title})`;
    button.append(name, rest);
    button.addEventListener("click", () => move(by));
    return button;
  });
  const group = document.createElement("span");
  group.className = "buttons";
  group.append(...buttons);
  bar.append(group, now);
  const table = section.querySelector(".wide");
  table.before(bar);
  table.tabIndex = 0;
  table.setAttribute("role", "region");
  table.setAttribute("aria-label", `${title}, arrow keys move`);
  let at = 0;
  const show = () => {
    rows.forEach((row, own) => {
      row.classList.toggle("current", own === at);
      if (own === at) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    });
    const cell = (name) => rows[at].querySelector(`.${name}`)?.textContent.trim();
    const x = cell("x") === undefined ? "" : `, X = ${cell("x")}`;
    now.textContent = `Step ${at + 1} of ${rows.length}: ${cell("does")}. A = ${cell("a")}${x}.`;
    // A button that has the focus must not lose it.
    for (const [index, edge] of [[0, 0], [1, 0], [2, rows.length - 1], [3, rows.length - 1]]) {
      buttons[index].setAttribute("aria-disabled", String(at === edge));
    }
  };
  const move = (by) => {
    at = Math.min(rows.length - 1, Math.max(0, at + by));
    show();
    rows[at].scrollIntoView({ block: "nearest" });
  };
  table.addEventListener("keydown", (event) => {
    const by = event.target === table ? KEYS[event.key] : undefined;
    if (by === undefined) return;
    event.preventDefault();
    move(by);
  });
  for (const [index, row] of rows.entries()) row.addEventListener("click", () => move(index - at));
  show();
}
