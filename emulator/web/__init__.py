"""HTTP: the server, requests and answers (app), the way to a method (routes), the control plane and its page."""
