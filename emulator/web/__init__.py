"""HTTP: the server, requests and responses (app), routing to methods (routes), the control plane and its page."""
