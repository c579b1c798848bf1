"""The API's methods, one module per service. Each method is a function of the emulator and a call."""
