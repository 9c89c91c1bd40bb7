// The page without a mouse, for screen readers, on small screens and in the dark.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PROFILE, answered, fills, noticed, opens, selects, shows, withPage } from "./harness.mjs";

const VIEWS = ["explanation", "denied", "findings", "compare", "program", "convert", "simulate"];
const focused = (page) => page.evaluate(() => document.activeElement.id);

/** Presses Tab until an element has the focus. */
async function tabTo(page, id) {
  for (let presses = 0; presses < 40; presses++) {
    if ((await focused(page)) === id) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`${id} is not reached by Tab`);
}

test("everything works with the keyboard", () =>
  withPage(async (page) => {
    await tabTo(page, "text");
    await page.keyboard.press("Control+A");
    await answered(page, () => page.keyboard.insertText("ALLOW { read } DEFAULT KILL"));
    await tabTo(page, "tab-explanation");
    // The tabs are one stop, and arrows move between them.
    await answered(page, () => page.keyboard.press("ArrowRight"));
    assert.equal(await focused(page), "tab-denied");
    await answered(page, () => page.keyboard.press("ArrowRight"));
    assert.ok(await page.$("#findings"));
    await answered(page, () => page.keyboard.press("End"));
    assert.equal(await focused(page), "tab-simulate");
    await answered(page, () => page.keyboard.press("ArrowRight"));
    assert.equal(await focused(page), "tab-explanation");
    await answered(page, () => page.keyboard.press("ArrowLeft"));
    await page.keyboard.press("Tab");
    assert.equal(await focused(page), "panel");
    await page.keyboard.press("Tab");
    assert.equal(await focused(page), "call");
    await page.keyboard.type("read");
    await page.waitForFunction(() => / read\(\): ALLOW/.test(document.getElementById("status").textContent));
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Shift+Tab");
    assert.equal(await focused(page), "tab-simulate");
    // What has the focus is visible.
    const outline = await page.$eval("#tab-simulate", (tab) => getComputedStyle(tab).outlineStyle);
    assert.notEqual(outline, "none");
  }));

test("places of errors are reached by the keyboard", () =>
  withPage(async (page) => {
    await shows(page, '{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": 1}');
    await page.focus("#messages .place");
    await page.keyboard.press("Enter");
    assert.equal(await focused(page), "text");
  }));

test("controls have names, tabs follow their pattern, and results are announced", () =>
  withPage(async (page) => {
    const nameless = await page.$$eval("input:not([hidden]), select, textarea, button", (all) =>
      all.filter((one) => !(one.labels?.length || one.textContent.trim() || one.getAttribute("aria-label"))).map(({ id }) => id),
    );
    assert.deepEqual(nameless, []);
    const names = await page.$$eval("button", (all) => all.map((one) => one.textContent));
    assert.equal(new Set(names).size, names.length, names.join());
    assert.equal(await page.$eval("#status", (status) => status.getAttribute("aria-live")), "polite");
    await shows(page, "ALLOW { read } DEFAULT KILL");
    for (const view of VIEWS) {
      await selects(page, view);
      const tabs = await page.$$eval("[role=tab]", (all) => all.map((tab) => [tab.id, tab.getAttribute("aria-selected"), tab.tabIndex]));
      for (const [id, selected, index] of tabs) {
        const isOwn = id === `tab-${view}`;
        assert.deepEqual([selected, index], [String(isOwn), isOwn ? 0 : -1], id);
      }
      assert.equal(await page.getAttribute("#panel", "aria-labelledby"), `tab-${view}`);
    }
    const ids = await page.$$eval("[id]", (all) => all.map(({ id }) => id));
    assert.equal(new Set(ids).size, ids.length, "an id occurs twice");
  }));

test("nothing is wider than a screen of 360 px", () =>
  withPage(
    async (page) => {
      await opens(page, PROFILE);
      for (const view of VIEWS) {
        await selects(page, view);
        if (view === "compare") await fills(page, "before", "ALLOW { read } DEFAULT KILL");
        if (view === "convert") await answered(page, () => page.selectOption("#to", "c"));
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= 360, `${view}: ${width}`);
      }
      await shows(page, `{"defaultAction": "${"x".repeat(3000)}"}`);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
    },
    { options: { viewport: { width: 360, height: 740 } } },
  ));

/** The texts whose contrast is below 4.5, or 3 if they are large. */
const faint = (page) =>
  page.evaluate(() => {
    const channels = (color) => color.match(/[\d.]+/g).map(Number);
    const luminance = (color) => {
      const [r, g, b] = channels(color).map((value) => {
        const part = value / 255;
        return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (element) => {
      for (let own = element; own; own = own.parentElement) {
        const color = getComputedStyle(own).backgroundColor;
        if (channels(color)[3] !== 0) return color;
      }
      return "rgb(255, 255, 255)";
    };
    const found = [];
    for (const element of document.querySelectorAll("body *")) {
      const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
      if (!hasText || element.closest("svg, option, datalist, noscript, [hidden]") || !element.checkVisibility()) continue;
      const style = getComputedStyle(element);
      // What is half transparent is half its ground.
      let opacity = 1;
      for (let own = element; own; own = own.parentElement) opacity *= Number(getComputedStyle(own).opacity);
      const [text, under] = [channels(style.color), channels(ground(element))];
      const mixed = `rgb(${text.slice(0, 3).map((value, at) => value * opacity + under[at] * (1 - opacity)).join()})`;
      const [a, b] = [luminance(mixed), luminance(ground(element))].sort((one, other) => other - one);
      const least = parseFloat(style.fontSize) >= 24 ? 3 : 4.5;
      if ((a + 0.05) / (b + 0.05) < least && !element.matches(":disabled")) found.push(`${element.localName} "${element.textContent.slice(0, 30)}"`);
    }
    return found;
  });

for (const colorScheme of ["light", "dark"]) {
  test(`texts have contrast in ${colorScheme} mode`, () =>
    withPage(
      async (page) => {
        await opens(page, PROFILE);
        for (const view of VIEWS) {
          await selects(page, view);
          if (view === "simulate") await answered(page, () => page.fill("#call", "ptrace"));
          assert.deepEqual(await faint(page), [], view);
        }
        await page.click("#share");
        await noticed(page, /address/);
        assert.deepEqual(await faint(page), []);
        await selects(page, "explanation");
        await shows(page, '{"defaultAction": 1}');
        assert.ok(await page.$("#body.stale"));
        assert.deepEqual(await faint(page), []);
        const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        assert.equal(ground, colorScheme === "dark" ? "rgb(20, 24, 29)" : "rgb(255, 255, 255)");
      },
      { options: { colorScheme } },
    ));
}

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in any tab in ${colorScheme} mode`, () =>
    withPage(
      async (page) => {
        await page.evaluate(AXE);
        await opens(page, PROFILE);
        for (const view of VIEWS) {
          await selects(page, view);
          if (view === "compare") await fills(page, "before", "ALLOW { read, bpf } DEFAULT KILL");
          if (view === "denied") await fills(page, "log", RECORD);
          if (view === "simulate") await answered(page, () => page.fill("#call", "ptrace"));
          assert.deepEqual(await violations(page), [], view);
        }
      },
      { options: { colorScheme } },
    ));
}

const AXE = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const RECORD = `type=SECCOMP msg=audit(1.2:3): auid=0 uid=0 gid=0 ses=1 pid=7 comm="nginx" exe="/n" sig=31 arch=c000003e syscall=165 compat=0 ip=0x7f code=0x80000000\n`;

/** What contradicts WCAG 2.2 A and AA. */
const violations = (page) =>
  page.evaluate(async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const { violations } = await window.axe.run(document, { runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(" | ")}`);
  });

test("the map is one stop for Tab, arrows go from square to square, and Enter goes to the rule", () =>
  withPage(async (page) => {
    await shows(page, "ALLOW { read, write } DEFAULT KILL");
    assert.equal(await page.$$eval("#map g.sq[tabindex='0']", (all) => all.length), 1);
    await page.focus("#map g.sq[tabindex='0']");
    const caption = () => page.textContent("#map .map-caption");
    const first = await caption();
    assert.match(first, /^\w+ \(\d+\): /);
    await page.keyboard.press("ArrowRight");
    const second = await caption();
    assert.notEqual(second, first);
    await page.keyboard.press("ArrowDown");
    assert.notEqual(await caption(), second);
    await page.keyboard.press("Home");
    assert.equal(await caption(), first);
    const read = page.locator("#map g.sq[aria-label^='read (']").first();
    await read.focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.id === "text");
    assert.deepEqual(await page.$eval("#text", (field) => [field.selectionStart, field.selectionEnd]), [8, 12]);
  }));

test("the map has names on touch", () =>
  withPage(
    async (page) => {
      await shows(page, "ALLOW { read, write } DEFAULT KILL");
      await page.locator("#map g.sq[aria-label^='write (']").first().tap();
      assert.match(await page.textContent("#map .map-caption"), /^write \(\d+\): ALLOW/);
      // The first tap shows the name, the second one the rule.
      assert.notEqual(await focused(page), "text");
      await page.locator("#map g.sq[aria-label^='write (']").first().tap();
      await page.waitForFunction(() => document.activeElement.id === "text");
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    },
    { options: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } },
  ));

test("buttons are large enough for fingers", () =>
  withPage(
    async (page) => {
      const small = await page.$$eval("button, select, [role=tab]", (all) =>
        all.filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 44).map((one) => one.textContent),
      );
      assert.deepEqual(small, []);
    },
    { options: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } },
  ));

test("lists that are cut can be opened, and nothing advises commands or shows backticks", () =>
  withPage(async (page) => {
    await opens(page, PROFILE);
    assert.doesNotMatch(await page.textContent("#body"), /`|Point at a square for|callgate \w+ prints/);
    await selects(page, "compare");
    await fills(page, "before", "ALLOW { read } DEFAULT KILL");
    const more = page.locator("#comparison .more").first();
    assert.match(await more.locator("summary").textContent(), /^and \d+ more$/);
    await more.locator("summary").click();
    assert.ok((await more.innerText()).length > 200);
    assert.doesNotMatch(await page.textContent("#body"), /`/);
  }));

test("what is dangerous has the colour of danger, and what is impossible is calm", () =>
  withPage(async (page) => {
    await shows(page, "ALLOW { read, openat, init_module } DEFAULT KILL");
    const rows = await page.$$eval("#summary table tr", (all) => all.map((row) => [row.cells[0].textContent, row.querySelector(".chip")?.className, row.querySelector(".chip")?.textContent]));
    const of = (what) => rows.find(([title]) => title.startsWith(what)).slice(1);
    assert.deepEqual(of("load kernel modules"), ["chip killed", "dangerous: yes"]);
    assert.deepEqual(of("open files"), ["chip allowed", "yes"]);
    assert.deepEqual(of("mount file systems"), ["chip neutral", "no"]);
  }));
