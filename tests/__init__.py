"""stratagem's tests."""
