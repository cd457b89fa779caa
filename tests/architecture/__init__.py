"""What holds for the whole code base: layers, public face, wheel."""
