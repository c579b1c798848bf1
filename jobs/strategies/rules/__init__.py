"""What every job keeps, whatever its strategy: a module for each thing that rules speak of; `every` holds them all."""
