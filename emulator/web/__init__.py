"""HTTP: the server, requests and answers (app), which method answers (routes), the control plane and its page."""
