"""Refusals of requests whose body can't be read."""

from warre_blazar.texts.entries import Entry

EMPTY_BODY = Entry("empty_body", "No input data provided")
MALFORMED_JSON = Entry("malformed_json", "body: expected JSON in UTF-8")
NESTED_TOO_DEEPLY = Entry("malformed_json", "body: nested too deeply", "depth")
BODY_TOO_LARGE = Entry(
    "body_too_large", "The body is too large, expected at most {limit:number} bytes"
)
NO_LENGTH = Entry("refused", "Content-Length: expected a whole number", "no_length")
LENGTH_REQUIRED = Entry(
    "length_required",
    "This server can't read a body that is sent in chunks; send Content-Length",
)
UNREADABLE_BODY = Entry("incomplete_body", "The body can't be read", "unreadable")
INCOMPLETE_BODY = Entry(
    "incomplete_body",
    "The body has only {sent:number} of the {length:number} bytes that Content-Length says",
)
