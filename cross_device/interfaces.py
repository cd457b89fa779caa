"""The names by which TensorFlow and Keras know distributed things.

AutoGraph's `for` and Keras's `fit` ask whether a dataset, an iterator or a
value is an instance of these classes of `tf.distribute`. They have no
behaviour, and no registry to say it otherwise; so ours are derived from them.
"""

import tensorflow as tf

Dataset = tf.distribute.DistributedDataset
Iterator = tf.distribute.DistributedIterator
Values = tf.distribute.DistributedValues
