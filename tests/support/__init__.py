"""What tests stand on: servers of their own, closed sockets, people and a clock that moves by hand."""
