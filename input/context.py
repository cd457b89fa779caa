"""What a function that makes a dataset is told."""


class InputContext:
  """Which input pipeline a dataset is made for.

  Given to the `dataset_fn` of `distribute_datasets_from_function`, so that it
  may shard its files and choose its batch size.

  Args:
    num_input_pipelines: how many pipelines there are in the cluster.
    input_pipeline_id: which of them this one is, counted from 0.
    num_replicas_in_sync: how many replicas there are in the cluster.

  Example:
    >>> context = InputContext(num_replicas_in_sync=4)
    >>> context.get_per_replica_batch_size(32)
    8

  References:
    Mirrors `tf.distribute.InputContext` (2.21).
  """

  def __init__(
    self,
    num_input_pipelines: int = 1,
    input_pipeline_id: int = 0,
    num_replicas_in_sync: int = 1,
  ) -> None:
    self._num_input_pipelines = num_input_pipelines
    self._input_pipeline_id = input_pipeline_id
    self._num_replicas_in_sync = num_replicas_in_sync

  @property
  def num_replicas_in_sync(self) -> int:
    """How many replicas there are in the cluster."""
    return self._num_replicas_in_sync

  @property
  def input_pipeline_id(self) -> int:
    """Which pipeline this is, counted from 0."""
    return self._input_pipeline_id

  @property
  def num_input_pipelines(self) -> int:
    """How many pipelines there are in the cluster."""
    return self._num_input_pipelines

  def get_per_replica_batch_size(self, global_batch_size: int) -> int:
    """How much of a global batch is one replica's.

    Args:
      global_batch_size: the examples of one step, on all replicas together.

    Returns:
      The examples of one step on one replica.

    Raises:
      ValueError: if the replicas can't have equal parts.
    """
    replicas = self._num_replicas_in_sync
    if global_batch_size % replicas:
      raise ValueError(
        "`global_batch_size` must be divisible by `num_replicas_in_sync`; got "
        f"{global_batch_size!r} for {replicas} replicas. Take "
        f"{global_batch_size - global_batch_size % replicas} or "
        f"{global_batch_size + -global_batch_size % replicas}."
      )
    return global_batch_size // replicas

  def __repr__(self) -> str:
    return (
      f"InputContext(num_input_pipelines={self._num_input_pipelines}, "
      f"input_pipeline_id={self._input_pipeline_id}, "
      f"num_replicas_in_sync={self._num_replicas_in_sync})"
    )
