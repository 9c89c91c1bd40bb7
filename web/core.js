// The core in a worker, so that typing never waits for it.
//
// At most one request runs, and only the newest one waits. A request that runs when a newer one comes has a moment to end; then
// its worker is replaced, so that a filter that takes seconds does not delay the answer about the next text.

import { scriptUrl } from "./trusted.js";

/** The time after which a request is stopped, in milliseconds. */
const LIMIT = 5000;

/** The time that a request has before a newer one ends it, in milliseconds. A new worker takes about as long to start. */
const PATIENCE = 300;

const TOO_LONG = `This took longer than ${LIMIT / 1000} s and was stopped. The filter may be too complex for this page; the command callgate may still read it.`;

export class Core {
  #module = null;
  #rest = null;
  #restComes = null;
  #worker = null;
  #running = null;
  #waiting = null;
  #yields = 0;
  #turn = 0;

  /**
   * The answer to a request. Null if a newer request took its place; `failure` says why there is none.
   */
  ask(request) {
    return new Promise((resolve) => {
      this.#waiting?.resolve(null);
      this.#waiting = { request, resolve };
      if (this.#running === null) this.#next();
      else this.#hurry();
    });
  }

  /** Answers a request if there is nothing else to do, so that the browser optimizes the module. */
  async warm(request) {
    if (this.#running === null) await this.ask(request);
  }

  /** Stops the request that runs, if there is one. */
  stop() {
    if (this.#running !== null) this.#stop({ failure: "Stopped. Change the text or choose a tab to ask again." });
  }

  /** Ends the request that runs, once it had its time. One that is not with the worker yet gives way without this. */
  #hurry() {
    const job = this.#running;
    if (job.since === undefined) return;
    clearTimeout(this.#yields);
    this.#yields = setTimeout(() => this.#stop(null), Math.max(0, job.since + PATIENCE - performance.now()));
  }

  async #next() {
    this.#running = this.#waiting;
    this.#waiting = null;
    if (this.#running === null) return;
    const turn = ++this.#turn;
    // Its scripts arrive while the module does.
    const worker = (this.#worker ??= this.#start());
    try {
      // The page loads the module, so that its policy applies; a new worker needs no new compilation.
      this.#module ??= await load("callgate.wasm");
    } catch (error) {
      if (turn === this.#turn) this.#stop({ failure: `The core cannot be loaded: ${error.message}`, isOfLoading: true });
      return;
    }
    if (turn !== this.#turn) return;
    if (!worker.hasModule) worker.postMessage(this.#module);
    worker.hasModule = true;
    this.#giveRest();
    // The worker may be loading still, which is not the fault of the request, or end meanwhile.
    if (!(await worker.ready) || worker !== this.#worker || turn !== this.#turn) return;
    if (this.#waiting !== null) {
      this.#running.resolve(null);
      this.#running = this.#waiting;
      this.#waiting = null;
    }
    this.#time();
    const { missing, ...request } = this.#running.request;
    worker.postMessage(JSON.stringify(request));
  }

  /** The core begins with the request. */
  #time() {
    const job = this.#running;
    job.since = performance.now();
    job.timer = setTimeout(() => this.#stop({ failure: TOO_LONG }), LIMIT);
  }

  /** Loads the rest of the module. */
  async complete() {
    this.#restComes ??= load("rest.wasm");
    try {
      this.#rest = await this.#restComes;
    } catch (error) {
      this.#restComes = null;
      throw error;
    }
    this.#giveRest();
  }

  #giveRest() {
    const worker = this.#worker;
    if (this.#rest === null || !worker?.hasModule || worker.hasRest) return;
    worker.hasRest = true;
    worker.postMessage(this.#rest);
  }

  /** The worker waits with its request for the rest of the module, which is not the fault of the request. */
  async #continueWithRest(worker) {
    const job = this.#running;
    clearTimeout(job.timer);
    try {
      await this.complete();
    } catch (error) {
      if (worker === this.#worker) this.#stop({ failure: `The core cannot be loaded: ${error.message}`, isOfLoading: true });
      return;
    }
    if (worker === this.#worker && job === this.#running) this.#time();
  }

  #start() {
    const worker = new Worker(scriptUrl("worker.js"), { type: "module" });
    // True if the worker is ready for requests, false if it failed before.
    worker.ready = new Promise((resolve) => {
      let isReady = false;
      worker.addEventListener("message", ({ data }) => {
        // What a worker wrote before it ended may arrive later.
        if (worker !== this.#worker) return;
        if (data.needsRest) return this.#continueWithRest(worker);
        if (isReady) return this.#finish(data);
        isReady = true;
        resolve(true);
      });
      worker.addEventListener("error", () => {
        if (worker === this.#worker) {
          const memory = "The core failed. A filter that needs too much memory can be the reason.";
          this.#stop(isReady ? { failure: memory } : { failure: "The core cannot be loaded: worker.js failed.", isOfLoading: true });
        }
        resolve(false);
      });
    });
    return worker;
  }

  /** Ends the worker, whose state is unknown. */
  #stop(answer) {
    this.#worker?.terminate();
    this.#worker = null;
    this.#finish(answer);
  }

  #finish(answer) {
    const job = this.#running;
    if (job === null) return;
    clearTimeout(job.timer);
    clearTimeout(this.#yields);
    // A job that was stopped while the module was loading waits for nothing any more.
    this.#turn += 1;
    const { missing } = job.request;
    job.resolve(missing && answer ? { ...answer, missing } : answer);
    this.#next();
  }

  /** Keeps the files of the page for use without a network. */
  async keepOffline() {
    try {
      await navigator.serviceWorker.register(scriptUrl("sw.js"));
    } catch {
      // Not possible in private windows and on unsafe addresses; the page works without it.
    }
  }
}

/** A part of the module, compiled while it arrives. Servers that do not know its type are no reason to fail. */
async function load(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  const isKnown = /^application\/wasm\b/.test(response.headers.get("content-type") ?? "");
  return isKnown ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}
