// The map of syscalls for touch and keys: one stop for Tab, arrows from square to square, the name and verdict below, and the
// rule in the text by a click or Enter.

import { firstRule, lightSyscall } from "./lights.js";

const STEPS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

/** Each map of a body. `follow` goes to the rule about a syscall of an ABI, whose place may be known. */
export function connectMaps(body, follow) {
  for (const map of body.querySelectorAll("#map > details")) connect(map, follow);
}

function connect(map, follow) {
  const squares = [...map.querySelectorAll("svg g.sq")];
  if (squares.length === 0) return;
  const arch = map.querySelector("summary").textContent.split(":")[0];
  const caption = document.createElement("p");
  caption.className = "map-caption";
  caption.textContent = "Point at a square, tap it, or use Tab and the arrow keys for its name. A click, a second tap or Enter shows its rule and its instructions.";
  map.querySelector(".map").before(caption);
  for (const picture of map.querySelectorAll(".map svg")) picture.setAttribute("role", "group");
  for (const square of squares) {
    square.setAttribute("role", "button");
    square.setAttribute("aria-label", text(square));
    square.dataset.key = `${arch} ${numberOf(square)}`;
    square.tabIndex = -1;
  }
  squares[0].tabIndex = 0;
  let shown = null;
  const show = (square) => {
    if (shown === square) return;
    shown?.classList.remove("current");
    square.classList.add("current");
    caption.textContent = text(square);
    shown = square;
  };
  const select = (square) => {
    for (const other of squares) other.tabIndex = other === square ? 0 : -1;
    square.focus({ preventScroll: true });
    square.scrollIntoView({ block: "nearest" });
  };
  const enter = (square) => {
    const nr = numberOf(square);
    lightSyscall(arch, nr);
    // Without its arguments, a syscall with conditions has another rule: for most, the default.
    follow(arch, text(square).split(" (")[0], square.classList.contains("conditional") ? firstRule(arch, nr) : undefined);
  };
  const grid = map.querySelector(".map");
  const squareOf = (event) => event.target.closest?.("g.sq");
  grid.addEventListener("pointerover", (event) => event.pointerType === "mouse" && squareOf(event) && show(squareOf(event)));
  grid.addEventListener("focusin", (event) => squareOf(event) && show(squareOf(event)));
  // A tap gives the focus before it is a click.
  let before = null;
  grid.addEventListener("pointerdown", () => (before = document.activeElement));
  grid.addEventListener("click", (event) => {
    const square = squareOf(event);
    if (!square) return;
    const isSecond = before === square;
    select(square);
    // A mouse has shown the name before.
    if (isSecond || event.pointerType === "mouse") enter(square);
  });
  grid.addEventListener("keydown", (event) => {
    const square = squareOf(event);
    if (!square) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return enter(square);
    }
    const to = event.key === "Home" ? squares[0] : event.key === "End" ? squares.at(-1) : STEPS[event.key] && next(squares, square, STEPS[event.key]);
    if (!to) return;
    event.preventDefault();
    select(to);
  });
}

const text = (square) => square.querySelector("title").textContent;

/** The number of the syscall of a square. */
export const numberOf = (square) => Number(/ \((\d+)\): /.exec(text(square))?.[1]);

/** The square beside another one: left and right in the order of the map, up and down the nearest in that direction. */
function next(squares, from, [x, y]) {
  if (x !== 0) return squares[squares.indexOf(from) + x];
  const place = (square) => {
    const { left, top, width, height } = square.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  };
  const [left, top] = place(from);
  let [best, least] = [null, Infinity];
  for (const square of squares) {
    const [otherLeft, otherTop] = place(square);
    const down = (otherTop - top) * y;
    if (down < 4) continue;
    // A neighbour below is nearer than one beside it further down.
    const distance = down + 4 * Math.abs(otherLeft - left);
    if (distance < least) [best, least] = [square, distance];
  }
  return best;
}
