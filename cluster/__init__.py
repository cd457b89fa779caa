"""Who is in the cluster: resolvers, specs, runtime start-up, launcher."""

if __name__ != "stratagem.cluster":
  raise ImportError(
    "This package must be imported as `stratagem.cluster`, and was "
    f"imported as `{__name__}`, which would make each of its classes exist "
    "twice. Write `import stratagem.cluster`."
  )
