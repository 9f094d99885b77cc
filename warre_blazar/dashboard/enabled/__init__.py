"""Files by which Horizon finds the pages. Operators copy them to its own directory of this name."""
