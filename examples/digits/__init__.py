"""The parts of `train_digits.py`: data, model, loop, and the comparison."""
