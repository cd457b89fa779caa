"""stratagem against `tf.distribute`: the same programs, run with both.

A *program* (`programs/<area>.py`) is a small function about one behaviour. It
asks for what it needs by the names of its parameters: `dist` is the module,
`tf.distribute` or `stratagem`; `strategy` a strategy of it; `wrap` is
`tf.function`, or nothing at all in eager mode. Whatever it returns is
compared, side by side: values, nesting, kinds of values, devices, errors.

`table.py` says with which strategies and modes each program runs,
`differences.py` where stratagem differs on purpose. A program that `requires` a
name that stratagem does not have yet waits for it. And

    python -m tests.conformance --filter=run --format=markdown

prints the outcome.
"""
