// The editor of filters, which the page loads after its first answer.

export { FilterField } from "./field.js";
export { setConstants, setSyscalls } from "./syscalls.js";
