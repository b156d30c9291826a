"""Documents about the HTTP API: OpenAPI, the reference, and the page that shows them."""
