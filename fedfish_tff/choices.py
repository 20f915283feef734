# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What methods leave to choose: enums of several parts, without TensorFlow.

Configs and flags name their values before TensorFlow is imported.
"""

import enum


class FisherEstimator(enum.Enum):
  """Which squared gradients make the Fisher diagonal.

  Attributes:
    BATCH_GRADIENT: (grad of a batch's mean loss)^2, summed over batches: the
      paper's Algorithm 2 as written.
    PER_EXAMPLE: (grad of one example's loss)^2, real labels, summed over
      examples: the empirical Fisher.
    SAMPLED_LABEL: As PER_EXAMPLE with labels drawn from the model: the Fisher
      information itself, estimated with one draw an example.
  """

  BATCH_GRADIENT = 'batch_gradient'
  PER_EXAMPLE = 'per_example'
  SAMPLED_LABEL = 'sampled_label'


class FisherNormalization(enum.Enum):
  """What the sum of squared gradients is divided by.

  Attributes:
    SUM: Nothing, as the paper's Algorithm 2; grows with the client's data.
    MEAN: The number of batches (BATCH_GRADIENT) or examples (otherwise).
  """

  SUM = 'sum'
  MEAN = 'mean'


class ControlUpdate(enum.Enum):
  """What a client's control variate becomes in a round of SCAFFOLD.

  Attributes:
    GRADIENT: Option I of the paper: the gradient of the client's loss at the
      global weights, which takes one more pass over its data.
    LOCAL_STEPS: Option II, that of the paper's experiments: the mean gradient
      of the client's local steps.
  """

  GRADIENT = 'gradient'
  LOCAL_STEPS = 'local_steps'


class MetaGradient(enum.Enum):
  """What becomes of the Hessian in the gradient of F(w) = f(w - alpha grad f(w)).

  With g = grad f(w - alpha grad f(w)) that is g - alpha H(w) g.

  Attributes:
    HESSIAN_FREE: H g by a central difference of gradients: HF-MAML.
    EXACT: H g by automatic differentiation: MAML.
    FIRST_ORDER: It is left out: FO-MAML.
  """

  HESSIAN_FREE = 'hessian_free'
  EXACT = 'exact'
  FIRST_ORDER = 'first_order'


class MetaBatches(enum.Enum):
  """Which data a step of MAML estimates its gradients and Hessian on.

  Attributes:
    INDEPENDENT: Each on a batch of its own, as published: a step takes the next
      three batches of a client, and the next two where no Hessian is needed.
    SHARED: All on one batch, so that every batch is a step.
  """

  INDEPENDENT = 'independent'
  SHARED = 'shared'


class Direction(enum.Enum):
  """Which drift is sent.

  The memo sends the largest; Passban et al. found the smallest to be the better
  half.
  """

  LARGEST = 'largest'
  SMALLEST = 'smallest'


class CoordinateScore(enum.Enum):
  """What coordinates are chosen by, as FL4Health names its scores.

  WEIGHT is |w| after training, CHANGE is |w - w0|, MAGNITUDE_CHANGE is
  ||w| - |w0||.
  """

  WEIGHT = 'weight'
  CHANGE = 'change'
  MAGNITUDE_CHANGE = 'magnitude_change'


class RidgeBias(enum.Enum):
  """What becomes of the bias.

  Attributes:
    REGULARIZED: The weight of the constant feature, regularised as any other:
      the official code's.
    CENTERED: Not regularised, as in scikit-learn's Ridge: features and labels
      are centred.
    NONE: No bias.
  """

  REGULARIZED = 'regularized'
  CENTERED = 'centered'
  NONE = 'none'


class FineTuning(enum.Enum):
  """What is trained of a feature classifier; names as in the Fed3R paper.

  Attributes:
    FT: Everything.
    FT_LP: The classifier only, a linear probe.
    FT_FEAT: The feature extractor only; the classifier is frozen.
  """

  FT = 'ft'
  FT_LP = 'ft_lp'
  FT_FEAT = 'ft_feat'


class ClassDistance(enum.Enum):
  """How near features are to a class' mean m.

  Attributes:
    COSINE: By the product with m / |m|, as published. A class without examples
      has weights of zero.
    EUCLIDEAN: By |phi - m|^2, as logits phi m - |m|^2 / 2. A class without
      examples is never the nearest.
  """

  COSINE = 'cosine'
  EUCLIDEAN = 'euclidean'


class UnitAverage(enum.Enum):
  """What the weights of a unit are that several clients' units are matched to.

  Attributes:
    MEAN: The mean over the clients that have the unit, so that one of a few is
      not made smaller. The authors' LSTM has it so.
    OVER_ALL: The sum over the clients that have the unit, divided by the number
      of all: Algorithm 1 of FedMA as it is written. It is the mean where all
      have the unit.
    POSTERIOR_MEAN: The mean of its posterior, which the prior draws to 0: with
      variances of 1, the sum divided by one more than the clients. The authors'
      code for images; one client's network does not stay what it was.
  """

  MEAN = 'mean'
  OVER_ALL = 'over_all'
  POSTERIOR_MEAN = 'posterior_mean'
