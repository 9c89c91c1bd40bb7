//! Requests of the bindings: whatever they are, the answer is JSON with a result or with messages.

use callgate_formats::syntax::json;

/// The text of a request.
pub fn requests(input: &[u8]) {
    let answer = match std::str::from_utf8(input) {
        Ok(request) => callgate_requests::answer(request),
        Err(error) => callgate_requests::not_utf8(error.valid_up_to()),
    };
    let parsed = json::parse(&answer).expect("an answer is JSON");
    assert!(!answer.contains("defect of callgate"), "{answer}");
    match parsed.get("errors") {
        Some(errors) => assert!(!errors.items().is_empty(), "refused without a message"),
        None => assert!(parsed.get("result").is_some() && parsed.get("warnings").is_some()),
    }
}
