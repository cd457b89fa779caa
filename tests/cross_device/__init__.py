"""Values on several devices, and what is done with them."""
