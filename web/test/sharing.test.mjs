// Addresses that have a filter.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, noticed, origin, selects, shows, value, withPage } from "./harness.mjs";

const POLICY = "// ü 🦀\nALLOW { read, socket(family) { family == AF_UNIX } } DEFAULT KILL\n";

test("a bookmark restores text, options and view", async () => {
  const address = await withPage(async (page) => {
    await shows(page, POLICY);
    await selects(page, "simulate");
    await answered(page, () => page.fill("#call", "socket(AF_INET)"));
    await page.evaluate(() => (document.getElementById("options").open = true));
    await answered(page, () => page.fill("#arches", "aarch64"));
    assert.equal(new URL(page.url()).hash, "");
    await page.click("#share");
    await page.waitForFunction(() => location.hash !== "");
    return page.url();
  });
  await withPage(
    async (page) => {
      assert.equal(await value(page), POLICY);
      assert.equal(await page.inputValue("#arches"), "aarch64");
      assert.equal(await page.getAttribute("#tab-simulate", "aria-selected"), "true");
      await page.waitForSelector("#simulated");
      assert.match(await page.textContent("#status"), /^aarch64 socket\(AF_INET\): KILL/);
      await page.reload();
      await page.waitForSelector("#simulated");
      assert.equal(await value(page), POLICY);
    },
    { fragment: address.slice(origin.length) },
  );
});

test("an address that was cut or changed has a message", async () => {
  const bomb = "v1=7cExAQAAAMKg9U9tDQ-g";
  const isCut = /a part of it is missing/;
  const cases = [["#v1=AAAA", isCut], ["#v1=%%%", isCut], ["#v1=", isCut], [`#${bomb}`, isCut], [`#v1=${"A".repeat(40_000)}`, /40,003 characters, and this page opens at most 32,000/]];
  for (const [fragment, message] of cases) {
    await withPage(
      async (page) => {
        await noticed(page, message);
        assert.match(await shows(page, POLICY), /^Allows: /);
      },
      { fragment },
    );
  }
});

test("other fragments are not filters", () =>
  withPage(
    async (page) => {
      assert.match(await value(page), /defaultAction/);
      assert.equal(await page.isVisible("#notice"), false);
    },
    { fragment: "#page-answer" },
  ));

test("a text that is too long for an address has a message", () =>
  withPage(async (page) => {
    await page.evaluate(() => {
      const bytes = crypto.getRandomValues(new Uint8Array(60_000));
      document.getElementById("text").value = [...bytes].map((byte) => byte.toString(16)).join("");
    });
    await page.click("#share");
    await noticed(page, /the limit is 32,000/);
    assert.equal(new URL(page.url()).hash, "");
  }));

test("links within the page do not change the address", () =>
  withPage(async (page) => {
    await shows(page, POLICY);
    await page.click("#share");
    await page.waitForFunction(() => location.hash.startsWith("#v1="));
    const address = page.url();
    // Programs with shared code have links in their trees.
    const names = Array.from({ length: 40 }, (_, at) => `${at * 3}`);
    const jumps = names.map((nr) => `jeq #${nr}, yes`).join("\n");
    await shows(page, `ld [0]\n${jumps}\nret #0\nyes: ld [16]\njeq #1, good\nret #0x00050001\ngood: ret #0x7fff0000\n`);
    await selects(page, "program");
    const link = page.locator("#decisions a").first();
    const target = (await link.getAttribute("href")).slice(1);
    await link.evaluate((element) => element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true })));
    assert.equal(page.url(), address);
    assert.ok(await page.$eval(`#${target}`, (node) => node.matches(".found") && document.activeElement === node));
    await page.focus(".skip");
    await page.keyboard.press("Enter");
    assert.equal(page.url(), address);
    assert.equal(await page.evaluate(() => document.activeElement.id), "page-answer");
  }));

test("a shared machine is visible in the options", async () => {
  const share = (machine) =>
    withPage(async (page) => {
      await shows(page, POLICY);
      await page.evaluate((name) => (document.getElementById("machine").value = name), machine);
      await page.click("#share");
      await page.waitForFunction(() => location.hash !== "");
      return page.url().slice(origin.length);
    });
  for (const [machine, isOpen] of [["x86_64", false], ["riscv64", true]]) {
    await withPage(async (page) => assert.equal(await page.$eval("#options", (options) => options.open), isOpen), { fragment: await share(machine) });
  }
});
