"""TensorFlow, or how to get it.

stratagem does not require TensorFlow when it is installed, since several
distributions carry it (`tensorflow`, `tensorflow-tpu`). It requires it here,
when it is imported, and says which extra brings the right one.
"""

try:
  import tensorflow as tf
except ModuleNotFoundError as error:
  if error.name != "tensorflow":
    raise
  raise ImportError(
    "`stratagem` needs TensorFlow 2.16 or newer, and no module named "
    "`tensorflow` was found. Install it with one of stratagem's extras: "
    "`pip install 'stratagem[cpu]'`, `'stratagem[cuda]'` for NVIDIA GPUs, "
    "or `'stratagem[tpu]'` for Cloud TPUs."
  ) from error

OLDEST = (2, 16)

if tuple(int(part) for part in tf.__version__.split(".")[:2]) < OLDEST:
  raise ImportError(
    "`stratagem` needs TensorFlow 2.16 or newer, and found "
    f"{tf.__version__}. Upgrade it with one of stratagem's extras, for "
    "example `pip install --upgrade 'stratagem[cpu]'`."
  )
