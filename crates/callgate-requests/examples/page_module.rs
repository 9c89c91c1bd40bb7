//! [`callgate_html::web::answer`] as a WebAssembly module, which the web page calls.

callgate_requests::export_module!(callgate_html::web::answer);
