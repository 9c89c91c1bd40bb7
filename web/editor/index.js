// The editor of filters, which the page loads after its first answer.

export { FilterField } from "./field.js";
export { setSyscalls } from "./syscalls.js";
