"""`ReduceOp`."""

from absl.testing import parameterized
import tensorflow as tf

from stratagem.cross_device import reduce_op

ReduceOp = reduce_op.ReduceOp


class FromAnyTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(
    ("a_member", ReduceOp.MEAN),
    ("its_name", "MEAN"),
    ("its_name_in_lower_case", "mean"),
    ("its_name_in_mixed_case", "Mean"),
    ("that_of_tf_distribute", tf.distribute.ReduceOp.MEAN),
  )
  def test_reads(self, op):
    self.assertIs(ReduceOp.from_any(op), ReduceOp.MEAN)

  def test_reads_sum(self):
    self.assertIs(ReduceOp.from_any(tf.distribute.ReduceOp.SUM), ReduceOp.SUM)

  @parameterized.named_parameters(
    ("another_name", "max"),
    ("a_member_of_another_enum", tf.VariableAggregation.NONE),
    ("a_number", 1),
    ("nothing", None),
    ("a_function", tf.reduce_sum),
  )
  def test_refuses(self, op):
    with self.assertRaisesRegex(
      ValueError,
      r"must be `ReduceOp\.SUM`, `ReduceOp\.MEAN`.*Write "
      r"`reduce_op=sg\.ReduceOp\.SUM`",
    ):
      ReduceOp.from_any(op)


if __name__ == "__main__":
  tf.test.main()
