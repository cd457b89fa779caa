"""Values on several devices: how to reduce, gather, broadcast."""

if __name__ != "stratagem.cross_device":
  raise ImportError(
    "This package must be imported as `stratagem.cross_device`, and was "
    f"imported as `{__name__}`, which would make each of its classes exist "
    "twice. Write `import stratagem.cross_device`."
  )
