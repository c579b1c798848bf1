"""The API's methods, one module per service; each is a function of the world and a call."""
