"""Splitting one tf.data pipeline over workers and replicas."""

if __name__ != "stratagem.input":
  raise ImportError(
    "This package must be imported as `stratagem.input`, and was "
    f"imported as `{__name__}`, which would make each of its classes exist "
    "twice. Write `import stratagem.input`."
  )
