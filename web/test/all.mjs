// All tests of the page: node --test web/test/all.mjs

import { after, before } from "node:test";
import { start, stop } from "./harness.mjs";

before(start);
after(stop);

await import("./answers.mjs");
await import("./input.mjs");
await import("./sharing.mjs");
await import("./access.mjs");
await import("./privacy.mjs");
