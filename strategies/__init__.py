"""Strategies, replica contexts, variables, replication engines."""

if __name__ != "stratagem.strategies":
  raise ImportError(
    "This package must be imported as `stratagem.strategies`, and was "
    f"imported as `{__name__}`, which would make each of its classes exist "
    "twice. Write `import stratagem.strategies`."
  )
