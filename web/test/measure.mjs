// How long the page takes on a slow phone: `node web/test/measure.mjs [DIRECTORY] [ROUNDS]`, after `cargo xtask web` and .ci/web.
//
// Chromium slows the processor of the page down four times, and the network to "Fast 3G" of its developer tools (1.44 Mbit/s, 562 ms
// until an answer begins). Files come from web/serve.mjs, compressed. A profile is pasted as soon as the page is drawn. Printed are
// medians of the rounds, each with an empty cache. Chromium does not slow workers down, so the time that the core itself takes is
// counted four times.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chromium } from "playwright-core";

const [directory = "target/web", rounds = "5"] = process.argv.slice(2);
const SERVER = new URL("../serve.mjs", import.meta.url).pathname;
const SLOWDOWN = 4;
const NETWORK = { offline: false, latency: 562.5, downloadThroughput: 1.44e6 / 8, uploadThroughput: 675e3 / 8 };

/** A profile that somebody has; it is not one of those that web/usual.mjs has. */
const PASTED = JSON.stringify({
  defaultAction: "SCMP_ACT_ERRNO",
  defaultErrnoRet: 1,
  architectures: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
  syscalls: [
    { names: "accept4 bind brk clone3 close connect dup3 epoll_pwait2 execve exit_group fchmodat2 futex listen mmap openat pipe2 read write".split(" "), action: "SCMP_ACT_ALLOW" },
    { names: ["socket"], action: "SCMP_ACT_ALLOW", args: [{ index: 0, value: 40, op: "SCMP_CMP_NE" }] },
    { names: ["ioctl"], action: "SCMP_ACT_ERRNO", errnoRet: 25, args: [{ index: 1, value: 21522, op: "SCMP_CMP_EQ" }] },
    { names: ["ptrace", "process_vm_readv"], action: "SCMP_ACT_ALLOW", includes: { caps: ["CAP_SYS_PTRACE"] } },
  ],
}, null, 2);

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** In the page: keeps how long each request takes in the worker. */
function timeCore() {
  const post = Worker.prototype.postMessage;
  globalThis.durations = [];
  Worker.prototype.postMessage = function (message) {
    const since = performance.now();
    const ends = () => globalThis.durations.push(performance.now() - since);
    if (typeof message === "string") this.addEventListener("message", ends, { once: true });
    post.call(this, message);
  };
}

async function measure(browser, address) {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, serviceWorkers: "block" });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  await page.addInitScript(timeCore);
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", NETWORK);
  await session.send("Emulation.setCPUThrottlingRate", { rate: SLOWDOWN });
  await page.goto(address, { waitUntil: "commit" });
  const since = () => page.evaluate(() => performance.now());
  await page.waitForSelector("#body section");
  const first = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? performance.now());
  await page.evaluate((text) => {
    const field = document.getElementById("text");
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }, PASTED);
  await page.waitForSelector("html[data-answered]", { state: "attached" });
  const answered = await since();
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  const ready = await since();
  const isPasted = await page.evaluate(() => /Allows: 18 of/.test(document.getElementById("status").textContent));
  if (!isPasted) throw new Error("the answer is not about the pasted profile");
  const [core] = await page.evaluate(() => globalThis.durations);
  const sizes = await page.evaluate(() => performance.getEntriesByType("resource").reduce((sum, one) => sum + one.transferSize, 0));
  const module = await page.evaluate(() => performance.getEntriesByName(new URL("callgate.wasm", location.href).href)[0].responseEnd);
  await context.close();
  return { first, module, answered: answered + (SLOWDOWN - 1) * core, ready, core: SLOWDOWN * core, sizes };
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
  console.log(`the first part of the module is there: ${seconds("module")}`);
  console.log(`the first pasted profile is answered: ${seconds("answered")}, of which the core takes ${seconds("core")}`);
  console.log(`the editor is there: ${seconds("ready")}`);
  console.log(`transferred: ${(of("sizes") / 1000).toFixed(0)} kB; ${rounds} rounds`);
} finally {
  await browser.close();
  server.kill();
}
