# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Failures of operations, which XLA does not report.

XLA drops assertions, takes the nearest place for an index out of range and
divides integers by zero. A graph that XLA compiles therefore computes whether
one of its operations fails, and passes that on through its loops and branches.
Operations that are not listed here may fail unnoticed, so XLA does not get them.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from fedfish_tff.execution.replay import replayer

import tensorflow as tf

_NodeDef = tf.compat.v1.NodeDef


@dataclasses.dataclass
class Failure:
  """A note of whether client work has failed in the graph being built.

  Attributes:
    values: The tensor; none where operations report failures themselves.
  """

  values: list[tf.Tensor] = dataclasses.field(default_factory=list)

  def note(self, failed: tf.Tensor) -> None:
    """Notes whether a part of the work has failed."""
    self.values = [tf.logical_or(value, failed) for value in self.values]


def _create(replay, node, inputs):
  del replay
  return replayer.create_operation(node, inputs)


def _assert(replay, node, inputs):
  del node
  replay.note_failure(tf.logical_not(inputs[0]))
  return []


def _check_numerics(replay, node, inputs):
  replay.note_failure(_has_infinite(inputs[0]))
  return replayer.create_operation(node, inputs)


def _finite(replay, node, inputs):
  """Notes results that are not finite, such as of a matrix without a factor.

  TensorFlow may give these, too: then client work fails in no other place.
  """
  results = replayer.create_operation(node, inputs)
  for result in results:
    replay.note_failure(_has_infinite(result))
  return results


def _has_infinite(tensor: tf.Tensor) -> tf.Tensor:
  return tf.reduce_any(tf.logical_not(tf.math.is_finite(tensor)))


def _divide(replay, node, inputs):
  if inputs[1].dtype.is_integer:
    replay.note_failure(tf.reduce_any(tf.equal(inputs[1], 0)))
  return replayer.create_operation(node, inputs)


def _power(replay, node, inputs):
  if inputs[1].dtype.is_integer:
    replay.note_failure(tf.reduce_any(inputs[1] < 0))
  return replayer.create_operation(node, inputs)


def _gather(replay, node, inputs):
  tensor, places, *axis = inputs
  axis = tf.get_static_value(axis[0]) if axis else 0
  if axis is None:
    raise replayer.NotReplayableError(f'{node.op} along an unknown axis')
  replay.check_places(places, tf.shape(tensor)[int(axis)])
  return replayer.create_operation(node, inputs)


def _gather_nd(replay, node, inputs):
  tensor, places = inputs
  replay.check_places(places, tf.shape(tensor)[: places.shape[-1]])
  return replayer.create_operation(node, inputs)


def _scatter_nd(replay, node, inputs):
  places, _, sizes = inputs
  replay.check_places(places, sizes[: places.shape[-1]])
  return replayer.create_operation(node, inputs)


def _tensor_scatter(replay, node, inputs):
  tensor, places, _ = inputs
  replay.check_places(places, tf.shape(tensor)[: places.shape[-1]])
  return replayer.create_operation(node, inputs)


def _segments(replay, node, inputs):
  """Checks segments' numbers, of which negative ones are left out."""
  _, segments, number = inputs
  number = tf.cast(number, segments.dtype)
  replay.note_failure(tf.reduce_any(segments >= number))
  return replayer.create_operation(node, inputs)


def _labels(replay, node, inputs):
  logits, labels = inputs
  replay.check_places(labels, tf.shape(logits)[-1])
  return replayer.create_operation(node, inputs)


def _band(replay, node, inputs):
  matrices, *widths = inputs
  shape = tf.shape(matrices, widths[0].dtype)
  for width, size in zip(widths, (shape[-2], shape[-1]), strict=True):
    replay.note_failure(width > size)
  return replayer.create_operation(node, inputs)


def _list_item(replay, node, inputs):
  if node.attr['resize_if_index_out_of_bounds'].b:
    raise replayer.NotReplayableError(f'{node.op} of a list that grows')
  length = tf.raw_ops.TensorListLength(input_handle=inputs[0])
  replay.check_places(inputs[1], length)
  return replayer.create_operation(node, inputs)


def _stitch(replay, node, inputs):
  for places in inputs[: len(inputs) // 2]:
    replay.note_failure(tf.reduce_any(places < 0))
  return replayer.create_operation(node, inputs)


def _known(replay, node, inputs):
  """Replays an operation whose argument TensorFlow knows, and so has checked."""
  del replay
  if tf.get_static_value(inputs[0]) is None:
    raise replayer.NotReplayableError(f'{node.op} of an unknown argument')
  return replayer.create_operation(node, inputs)


def _slice(replay, node, inputs):
  tensor, begin, size = inputs
  if tf.get_static_value(begin) is None:
    end = begin + tf.maximum(size, 0)
    is_outside = (begin < 0) | (end > tf.shape(tensor, begin.dtype))
    replay.note_failure(tf.reduce_any(is_outside))
  return replayer.create_operation(node, inputs)


def _strided_slice(replay, node, inputs):
  """Checks indices, such as x[i]; ranges may end outside."""
  tensor, begin, *_ = inputs
  if tf.get_static_value(begin) is None and node.attr['shrink_axis_mask'].i:
    if tensor.shape.rank is None or begin.shape[0] is None:
      raise replayer.NotReplayableError(f'{node.op} of unknown rank')
    for place, axis in _indexed_axes(node, tensor.shape.rank, begin.shape[0]):
      size = tf.shape(tensor, begin.dtype)[axis]
      index = begin[place]
      replay.note_failure((index < -size) | (index >= size))
  return replayer.create_operation(node, inputs)


def _indexed_axes(
  node: _NodeDef, rank: int, num_specs: int
) -> Iterator[tuple[int, int]]:
  """Yields the places of a slice's indices, with the axes of the input."""

  def is_set(mask: str, place: int) -> bool:
    return bool(node.attr[mask].i >> place & 1)

  axis = 0
  for place in range(num_specs):
    if is_set('ellipsis_mask', place):
      later = range(place + 1, num_specs)
      axis = rank - sum(not is_set('new_axis_mask', i) for i in later)
    elif not is_set('new_axis_mask', place):
      if is_set('shrink_axis_mask', place):
        yield place, axis
      axis += 1


# Operations that fail for no values of arguments of the right shapes. A shape
# that depends on a batch's rows is `ragged_modules`' matter.
_NEVER_FAIL = (
  'Abs Acos Acosh Add AddN AddV2 AdjustContrastv2 AdjustHue AdjustSaturation All '
  'Angle Any ApproximateEqual ArgMax ArgMin Asin Asinh Atan Atan2 Atanh AvgPool '
  'AvgPool3D AvgPool3DGrad AvgPoolGrad BatchMatMul BatchMatMulV2 BatchMatMulV3 '
  'BatchToSpaceND BesselI0e BesselI1e Betainc BiasAdd BiasAddGrad BiasAddV1 '
  'Bitcast BitwiseAnd BitwiseOr BitwiseXor BroadcastArgs BroadcastGradientArgs '
  'BroadcastTo Bucketize Cast Ceil ClipByValue Complex ComplexAbs Concat '
  'ConcatOffset ConcatV2 Conj ConjugateTranspose Const ControlTrigger Conv2D '
  'Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 '
  'Conv3DBackpropInputV2 Cos Cosh Cross Cumprod Cumsum CumulativeLogsumexp '
  'DepthToSpace DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter '
  'DepthwiseConv2dNativeBackpropInput Diag DiagPart Digamma DivNoNan Einsum Elu '
  'EluGrad Empty EmptyTensorList EnsureShape Equal Erf Erfc Erfinv Exp ExpandDims '
  'Expm1 ExtractImagePatches FFT FFT2D FFT3D FakeParam FakeQuantWithMinMaxArgs '
  'FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars '
  'FakeQuantWithMinMaxVarsGradient Fill Floor FusedBatchNorm FusedBatchNormGrad '
  'FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3 '
  'Greater GreaterEqual HSVToRGB IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D '
  'Igamma IgammaGradA Igammac Imag InTopKV2 Inv Invert IsFinite IsInf '
  'IsNan L2Loss LRN LRNGrad LeakyRelu LeakyReluGrad LeftShift Less LessEqual '
  'Lgamma LinSpace Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr '
  'LowerBound MatMul MatrixDiag MatrixDiagPart MatrixDiagPartV2 '
  'MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 '
  'MatrixSetDiagV3 Max MaxPool MaxPool3D MaxPool3DGrad MaxPool3DGradGrad '
  'MaxPoolGrad MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradV2 MaxPoolV2 Maximum '
  'Mean Min Minimum MirrorPad MirrorPadGrad Mul MulNoNan Ndtri Neg NextAfter '
  'NotEqual OneHot OnesLike Pack Pad PadV2 Polygamma PopulationCount '
  'PreventGradient Prod Qr '
  'RFFT RFFT2D RFFT3D RGBToHSV Range Rank Real RealDiv Reciprocal '
  'ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad Reshape ResizeBilinear '
  'ResizeBilinearGrad ResizeNearestNeighbor Reverse ReverseV2 RightShift Rint '
  'Roll Round Rsqrt RsqrtGrad Select SelectV2 Selu SeluGrad Shape ShapeN Sigmoid '
  'SigmoidGrad Sign Sin Sinh Size Snapshot Softmax SoftmaxCrossEntropyWithLogits '
  'Softplus SoftplusGrad Softsign SoftsignGrad SpaceToBatch SpaceToBatchND '
  'SpaceToDepth Split SplitV Sqrt SqrtGrad Square SquaredDifference Squeeze '
  'StopGradient StridedSliceGrad Sub Sum Tan Tanh TanhGrad TensorListElementShape '
  'TensorListFromTensor TensorListLength TensorListPopBack TensorListPushBack '
  'TensorListReserve TensorListStack Tile TopKV2 Transpose Unique UniqueV2 '
  'Unpack UpperBound Where Xdivy Xlog1py Xlogy ZerosLike Zeta'
).split()

# The handlers for graphs that XLA compiles.
HANDLERS: Mapping[str, replayer.Handler] = {
  **dict.fromkeys(_NEVER_FAIL, _create),
  'Assert': _assert,
  'CheckNumerics': _check_numerics,
  'CheckNumericsV2': _check_numerics,
  'Cholesky': _finite,
  'Div': _divide,
  'DynamicStitch': _stitch,
  'FloorDiv': _divide,
  'FloorMod': _divide,
  'Gather': _gather,
  'GatherNd': _gather_nd,
  'GatherV2': _gather,
  'InvertPermutation': _known,
  'MatrixBandPart': _band,
  'MatrixTriangularSolve': _finite,
  'Mod': _divide,
  'ParallelDynamicStitch': _stitch,
  'Pow': _power,
  'ScatterNd': _scatter_nd,
  'SelfAdjointEigV2': _finite,
  'Slice': _slice,
  'SparseSoftmaxCrossEntropyWithLogits': _labels,
  'StridedSlice': _strided_slice,
  'Svd': _finite,
  'TensorListGetItem': _list_item,
  'TensorListSetItem': _list_item,
  'TensorScatterAdd': _tensor_scatter,
  'TensorScatterMax': _tensor_scatter,
  'TensorScatterMin': _tensor_scatter,
  'TensorScatterSub': _tensor_scatter,
  'TensorScatterUpdate': _tensor_scatter,
  'TruncateDiv': _divide,
  'TruncateMod': _divide,
  'UnsortedSegmentMax': _segments,
  'UnsortedSegmentMin': _segments,
  'UnsortedSegmentProd': _segments,
  'UnsortedSegmentSum': _segments,
}
