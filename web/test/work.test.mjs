// Nobody waits and nothing is lost: the first answer, the last work, Undo, and requests that take too long.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, fills, noticed, ready, selects, shows, value, withPage } from "./harness.mjs";

const GOOD = "ALLOW { read, write } DEFAULT KILL";

const example = (page, title) => answered(page, () => page.click(`#examples button:has-text("${title}")`));

test("the page has an answer before its scripts run, and the core agrees with it", async () => {
  const shown = (page) => page.evaluate(() => [document.getElementById("head").textContent, document.getElementById("body").textContent]);
  const texts = await withPage(async (page) => [await page.textContent("#text"), ...(await shown(page))], {
    options: { javaScriptEnabled: false },
    isReady: false,
  });
  assert.match(texts[0], /SCMP_ACT_ERRNO/);
  assert.match(texts[2], /Dangerous syscalls that are allowed.*ptrace/s);
  await withPage(async (page) => {
    await page.waitForSelector("html[data-answered]");
    const [head, body] = await shown(page);
    assert.equal(head, texts[1]);
    // The map has a line about keys.
    assert.ok(body.replace(/Point at a square, tap.*?instructions\./, "").includes(texts[2].slice(0, 2000)), body.slice(0, 500));
    assert.equal((await value(page)).trim(), texts[0].trim());
  });
});

test("each example says what it shows, and shows it", () =>
  withPage(async (page) => {
    const titles = await page.$$eval("#examples button", (all) => all.map((one) => one.textContent));
    const facts = {
      "Container profile": /ptrace/,
      "Blocked service": /sched_setaffinity[\s\S]*proved to allow sched_setaffinity/,
      "Docker's default": /always allows \d+ of \d+ syscalls[\s\S]*What a process can do/,
      "Policy with a mistake": /high-bits[\s\S]*at terminal\.policy:5:1[\s\S]*proved to allow restart_syscall/,
      "Slow program": /as given[\s\S]*compiled/,
      "Two versions": /Look at these first[\s\S]*bpf/,
    };
    assert.deepEqual(titles, Object.keys(facts));
    for (const title of titles) {
      await example(page, title);
      assert.match(await page.textContent("#body"), facts[title], title);
      assert.ok((await page.textContent("#lesson")).length > 40, title);
    }
  }));

test("the last work is there again, and Clear ends that", () =>
  withPage(async (page) => {
    await shows(page, GOOD);
    await selects(page, "simulate");
    await answered(page, () => page.fill("#call", "read"));
    await page.waitForFunction(() => Object.values(localStorage).some((text) => text.includes('"call":"read"')));
    await page.reload();
    await ready(page);
    assert.equal(await value(page), GOOD);
    assert.equal(await page.inputValue("#call"), "read");
    assert.match(await page.textContent("#status"), /read\(\): ALLOW/);
    await page.click("#clear");
    assert.equal(await value(page), "");
    await page.waitForFunction(() => localStorage.length === 0);
    await page.reload();
    await ready(page);
    assert.match(await value(page), /SCMP_ACT_ERRNO/);
  }));

test("what was kept has limits, and nonsense is not read", () =>
  withPage(async (page) => {
    for (const kept of [JSON.stringify({ text: "\n".repeat(20_000) }), "{", "[]", "7"]) {
      await page.evaluate((kept) => localStorage.setItem(`callgate ${location.pathname}`, kept), kept);
      await page.reload();
      await ready(page);
      assert.match(await value(page), /SCMP_ACT_ERRNO/, kept);
    }
  }));

test("Undo brings back what Clear, an example or a file replaced, and Redo the other", () =>
  withPage(async (page) => {
    await shows(page, GOOD);
    await page.click("#clear");
    assert.equal(await page.textContent("#undo"), "Undo Clear");
    await answered(page, () => page.click("#undo"));
    assert.equal(await value(page), GOOD);
    await example(page, "Slow program");
    assert.equal(await page.textContent("#undo"), "Undo example");
    await answered(page, () => page.click("#undo"));
    assert.equal(await value(page), GOOD);
    assert.equal(await page.textContent("#undo"), "Redo example");
    await answered(page, () => page.click("#undo"));
    assert.match(await value(page), /jeq #318/);
    assert.equal(await page.getAttribute("#tab-program", "aria-selected"), "true");
  }));

test("a newer text does not wait for an answer that takes long", () =>
  withPage(async (page) => {
    await shows(page, GOOD);
    const time = await page.evaluate(
      ([slow, good]) =>
        new Promise((resolve) => {
          const [field, status] = [document.getElementById("text"), document.getElementById("status")];
          const put = (text) => {
            field.value = text;
            field.dispatchEvent(new Event("input"));
          };
          status.textContent = "";
          put(slow);
          let start;
          setTimeout(() => {
            start = performance.now();
            put(good);
          }, 500);
          new MutationObserver(() => status.textContent.startsWith("Allows: 1") && resolve(performance.now() - start)).observe(status, { childList: true });
        }),
      [HANGING, "ALLOW { write } DEFAULT KILL"],
    );
    console.log(`the answer after one that hangs: ${time.toFixed(0)} ms`);
    // Without a new worker, this takes as long as the old request.
    assert.ok(time < 3500, `${time} ms`);
  }));

/** A program that multiplies arguments: it takes seconds until its diagram has too many nodes. */
const HANGING = `${["ld [16]", "tax", "ld [24]", "mul x", "tax", "ld [32]", "mul x", "jeq #0x12345678, yes, no", "yes: ret #0x7fff0000", "no: ret #0"].join("\n")}\n`;

test("while the page works, it says so, dims the old answer, and Stop ends it", () =>
    withPage(
      async (page) => {
        await shows(page, GOOD);
        assert.equal(await page.isVisible("#busy"), false);
        await page.evaluate((text) => {
          const field = document.getElementById("text");
          field.value = text;
          field.dispatchEvent(new Event("input"));
        }, HANGING);
        await page.waitForSelector("#busy:not([hidden])");
        assert.ok(await page.$("#page-answer.busy #body"));
        assert.equal(await page.getAttribute("#panel", "aria-busy"), "true");
        assert.match(await page.textContent("#busy"), /Working… \d+\.\d s\. Below is the answer to the text before/);
        await answered(page, () => page.click("#stop"));
        assert.match(await page.textContent("#status"), /Stopped/);
        assert.ok(await page.$("#body.stale"));
        assert.equal(await page.isVisible("#busy"), false);
        assert.match(await shows(page, GOOD), /^Allows: 2 of/);
        assert.equal(await page.$("#page-answer.busy"), null);
      },
      { ignoresErrors: true },
    ));

test("the module is compiled while it arrives, and files arrive compressed", () =>
  withPage(
    async (page, { requests }) => {
      await page.waitForSelector("html[data-answered]");
      const names = ["callgate.wasm", "main.js", "editor.js", "sections.css", "about.json"];
      for (const name of names) {
        const own = requests.filter((request) => new URL(request.url()).pathname === `/${name}`);
        const response = await own[0].response();
        assert.match(response.headers()["content-encoding"], /^(?:br|gzip)$/, name);
        // What is preloaded is what is used, and not loaded twice.
        assert.equal(own.length, 1, name);
      }
      const headers = await (await requests.find((request) => request.url().endsWith("callgate.wasm")).response()).allHeaders();
      assert.equal(headers["content-type"], "application/wasm");
    },
    { options: { serviceWorkers: "block" }, isReady: false },
  ));

test("a link to the page is not lost, and Undo brings back what it replaced", () =>
  withPage(async (page) => {
    await shows(page, GOOD);
    await page.click("#share");
    await page.waitForFunction(() => location.hash.startsWith("#v1="));
    const fragment = await page.evaluate(() => location.hash);
    await fills(page, "text", "ALLOW { write } DEFAULT KILL");
    await page.evaluate(() => (location.hash = ""));
    await answered(page, () => page.evaluate((own) => (location.hash = own), fragment));
    assert.equal(await value(page), GOOD);
    await answered(page, () => page.click("#undo"));
    assert.equal(await value(page), "ALLOW { write } DEFAULT KILL");
    await page.click("#share");
    await noticed(page, /address/);
  }));
