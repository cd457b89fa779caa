"""What stands for what while one trace serves all replicas."""

import gc

import tensorflow as tf

from stratagem.cross_device import resources


class OfReplicaTest(tf.test.TestCase):
  def test_gives_the_counterpart_of_a_resource(self):
    variables = [tf.Variable(float(i)) for i in range(3)]
    handles = [v.handle for v in variables]
    resource = resources.PerReplicaResource(handles)
    for replica, handle in enumerate(handles):
      self.assertIs(resources.of_replica(handles[0], replica), handle)
    self.assertLen(resource.handles, 3)

  def test_gives_any_other_tensor_back(self):
    variables = [tf.Variable(float(i)) for i in range(2)]
    resource = resources.PerReplicaResource([v.handle for v in variables])
    tensor = tf.constant(1.0)
    self.assertIs(resources.of_replica(tensor, 1), tensor)
    # Only the first stands for the others.
    second = resource.handles[1]
    self.assertIs(resources.of_replica(second, 0), second)

  def test_knows_nothing_of_a_resource_that_is_gone(self):
    first, second = tf.Variable(1.0), tf.Variable(2.0)
    resource = resources.PerReplicaResource([first.handle, second.handle])
    self.assertIs(resources.of_replica(first.handle, 1), second.handle)
    del resource
    gc.collect()
    self.assertIs(resources.of_replica(first.handle, 1), first.handle)


if __name__ == "__main__":
  tf.test.main()
