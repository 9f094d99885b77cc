"""What operators offer: flavors, their shapes and devices, and who may book them."""
