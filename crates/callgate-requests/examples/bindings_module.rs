//! [`callgate_requests::answer`] as a WebAssembly module, which the bindings for Go and JavaScript call.

callgate_requests::export_module!(callgate_requests::answer);
