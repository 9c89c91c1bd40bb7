// Links within the page. The fragment of the address belongs to Share, so they do not change it.

/** Links scroll to their targets and give them the focus. */
export function connectLinks() {
  addEventListener("click", (event) => {
    const href = event.target.closest?.("a")?.getAttribute("href") ?? "";
    if (!href.startsWith("#")) return;
    const target = document.getElementById(href.slice(1));
    if (target === null) return;
    event.preventDefault();
    for (const old of document.querySelectorAll(".found")) old.classList.remove("found");
    target.classList.add("found");
    if (!target.hasAttribute("tabindex")) target.setAttribute("tabindex", "-1");
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}
