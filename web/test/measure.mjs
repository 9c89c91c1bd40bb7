// How long the page takes on a slow phone: `node web/test/measure.mjs [DIRECTORY] [ROUNDS]`, after `cargo xtask web` and .ci/web.
//
// Chromium slows the processor of the page down four times, and the network to "Fast 3G" of its developer tools (1.44 Mbit/s, 562 ms
// until an answer begins). Files come from web/serve.mjs, compressed. Printed are medians of the rounds, each with an empty cache.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chromium } from "playwright-core";

const [directory = "target/web", rounds = "5"] = process.argv.slice(2);
const SERVER = new URL("../serve.mjs", import.meta.url).pathname;
const SLOWDOWN = 4;
const NETWORK = { offline: false, latency: 562.5, downloadThroughput: 1.44e6 / 8, uploadThroughput: 675e3 / 8 };

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

async function measure(browser, address) {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, serviceWorkers: "block" });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", NETWORK);
  await session.send("Emulation.setCPUThrottlingRate", { rate: SLOWDOWN });
  await page.goto(address, { waitUntil: "commit" });
  const since = () => page.evaluate(() => performance.now());
  await page.waitForSelector("#body section");
  const first = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? performance.now());
  await page.waitForSelector("html[data-answered]", { state: "attached" });
  const answered = await since();
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  const ready = await since();
  const sizes = await page.evaluate(() => performance.getEntriesByType("resource").reduce((sum, one) => sum + one.transferSize, 0));
  await context.close();
  return { first, answered, ready, sizes };
}

const server = spawn(process.execPath, [SERVER, directory, "0"], { stdio: ["ignore", "pipe", "inherit"] });
const [line] = await once(server.stdout, "data");
const address = /http:\S+/.exec(String(line))[0];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const all = [];
  for (let round = 0; round < Number(rounds); round++) all.push(await measure(browser, address));
  const of = (key) => median(all.map((one) => one[key]));
  const seconds = (key) => `${(of(key) / 1000).toFixed(1)} s`;
  console.log(`the answer to the example is drawn: ${seconds("first")}`);
  console.log(`the core answers: ${seconds("answered")}`);
  console.log(`the editor is there: ${seconds("ready")}`);
  console.log(`transferred: ${(of("sizes") / 1000).toFixed(0)} kB; ${rounds} rounds`);
} finally {
  await browser.close();
  server.kill();
}
