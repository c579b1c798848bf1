"""The API's methods, one module per service; each is a function of the emulator and a call."""
