"""Paired measurements of `stratagem` against `tf.distribute`.

`python -m benchmarks` (or `make bench`) runs every pair of `suite.PAIRS`. The
two sides of a pair run the same program in two processes that take turns, so
that whatever slows the machine down slows both of them down.
"""
