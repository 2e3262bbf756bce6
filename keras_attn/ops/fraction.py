"""What numbers have after the point.

Backend kernel: XLA computes `x − floor(x)` anew wherever it is read, and what x is made of with it,
for each channel of a picture. A remainder is dear enough for it to be kept; without XLA the
difference is faster.
"""

import keras
from keras import ops


def fraction(values):
    """x − floor(x), exactly; its gradient is that of x.

    Args:
        values: float tensor.

    Returns:
        float in [0, 1), as `values`.

    Example:
        >>> ops.convert_to_numpy(fraction(ops.array([2.0, 3.25, -0.25]))).tolist()
        [0.0, 0.25, 0.75]
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf
        from tensorflow.python.ops.control_flow_util import GraphOrParentsInXlaContext

        if GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph()):
            return ops.mod(values, 1.0)
    return values - ops.floor(ops.stop_gradient(values))
