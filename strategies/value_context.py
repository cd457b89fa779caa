"""For which replica a value is being made."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class ValueContext:
  """What `experimental_distribute_values_from_function` tells its function.

  Attributes:
    replica_id_in_sync_group: for which replica, from 0.
    num_replicas_in_sync: how many replicas there are.

  References:
    Mirrors `tf.distribute.experimental.ValueContext` (2.21).
  """

  replica_id_in_sync_group: int = 0
  num_replicas_in_sync: int = 1
