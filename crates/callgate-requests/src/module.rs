//! The functions that a WebAssembly module exports, without imports.
//!
//! The caller allocates the request with `callgate_alloc`, writes it, and calls `callgate_answer`. This frees the request
//! and returns the answer, with its address in the upper and its length in the lower 32 bits. The caller frees it with
//! `callgate_free`.
//!
//! If memory is exhausted, the module traps. The caller then discards the instance; the answers of other instances are not
//! affected. `cargo xtask wasm` builds the module, with a limit of memory.

/// Exports a function from a request to an answer, such as [`answer`](crate::answer()), as the functions of a WebAssembly
/// module. This is a macro because the functions need `unsafe`, which this crate forbids: only the modules have it, the
/// examples `bindings_module` and `page_module`.
#[macro_export]
macro_rules! export_module {
    ($answer:path) => {
        /// The layout of a buffer; at least one byte, because an allocation must not be empty.
        fn layout(len: usize) -> ::std::alloc::Layout {
            match ::std::alloc::Layout::array::<u8>(len.max(1)) {
                Ok(layout) => layout,
                // Longer than the address space: as if memory were exhausted.
                Err(_) => ::std::alloc::handle_alloc_error(::std::alloc::Layout::new::<u8>()),
            }
        }

        /// Allocates a buffer of this length, which is not initialized.
        #[unsafe(no_mangle)]
        pub extern "C" fn callgate_alloc(len: usize) -> *mut u8 {
            let layout = layout(len);
            // SAFETY: the layout is not empty.
            let buffer = unsafe { ::std::alloc::alloc(layout) };
            if buffer.is_null() {
                ::std::alloc::handle_alloc_error(layout);
            }
            buffer
        }

        /// Frees a buffer that `callgate_alloc` or `callgate_answer` returned.
        ///
        /// # Safety
        /// The address and the length are those of such a buffer, which is freed once.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn callgate_free(buffer: *mut u8, len: usize) {
            // SAFETY: the caller passes a buffer that was allocated with this layout.
            unsafe { ::std::alloc::dealloc(buffer, layout(len)) };
        }

        /// Answers a request, and frees it.
        ///
        /// # Safety
        /// The request is a buffer that `callgate_alloc` returned for this length, and the caller has written all of it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn callgate_answer(request: *mut u8, len: usize) -> u64 {
            // SAFETY: the caller passes a buffer of this length that is initialized.
            let bytes = unsafe { ::std::slice::from_raw_parts(request, len) };
            let answer = match ::std::str::from_utf8(bytes) {
                Ok(text) => $answer(text),
                Err(error) => $crate::not_utf8(error.valid_up_to()),
            };
            // SAFETY: the caller passes the buffer, and nothing reads it after this.
            unsafe { callgate_free(request, len) };
            // An answer is never empty, so the layout of its buffer is that of `callgate_free`.
            let answer = Box::into_raw(answer.into_bytes().into_boxed_slice());
            let (address, len) = (answer.cast::<u8>() as usize as u64, answer.len() as u64);
            address << 32 | len
        }
    };
}
