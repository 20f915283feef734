# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Choices of methods, as enums without TensorFlow.

Configs and flags use their values before TensorFlow is imported.
"""

import enum


class FisherEstimator(enum.Enum):
  """The squared gradients that make the Fisher diagonal.

  Attributes:
    BATCH_GRADIENT: (grad of a batch's mean loss)^2, summed over batches: the
      paper's Algorithm 2 as written.
    PER_EXAMPLE: (grad of one example's loss)^2, real labels, summed over
      examples: the empirical Fisher.
    SAMPLED_LABEL: PER_EXAMPLE with labels drawn from the model: the Fisher
      information itself, estimated with one draw per example.

  The model is in training mode. So the latter two, which take one example at a
  time, refuse models with statistics of batches (batch normalisation), and
  dropout masks differ between an example's label draw and its gradient.
  """

  BATCH_GRADIENT = 'batch_gradient'
  PER_EXAMPLE = 'per_example'
  SAMPLED_LABEL = 'sampled_label'


class FisherNormalization(enum.Enum):
  """The divisor of the sum of squared gradients.

  Attributes:
    SUM: None, as in the paper's Algorithm 2; the sum grows with the client's
      data.
    MEAN: The number of batches (BATCH_GRADIENT) or examples (otherwise).
  """

  SUM = 'sum'
  MEAN = 'mean'


class FisherGranularity(enum.Enum):
  """The weights that share a Fisher value.

  Attributes:
    WEIGHT: None, as in the paper: a diagonal.
    TENSOR: The weights of a tensor, with the mean of their values: layer-wise
      weights of the clients, as one Fisher value scales a whole tensor.
  """

  WEIGHT = 'weight'
  TENSOR = 'tensor'


class ControlUpdate(enum.Enum):
  """The update of a client's control variate in a round of SCAFFOLD.

  Attributes:
    GRADIENT: Option I of the paper: the gradient of the client's loss at the
      global weights, which takes one more pass over its data.
    LOCAL_STEPS: Option II, used in the paper's experiments: the mean gradient
      of the client's local steps.
  """

  GRADIENT = 'gradient'
  LOCAL_STEPS = 'local_steps'


class MetaGradient(enum.Enum):
  """The Hessian term in the gradient of F(w) = f(w - alpha grad f(w)).

  With g = grad f(w - alpha grad f(w)), the gradient is g - alpha H(w) g.

  Attributes:
    HESSIAN_FREE: H g by a central difference of gradients (HF-MAML), for models
      without dropout and the like.
    EXACT: H g by automatic differentiation (MAML).
    FIRST_ORDER: No Hessian term (FO-MAML).
  """

  HESSIAN_FREE = 'hessian_free'
  EXACT = 'exact'
  FIRST_ORDER = 'first_order'


class MetaBatches(enum.Enum):
  """The batches for the gradients and the Hessian of a step of MAML.

  Attributes:
    INDEPENDENT: A separate batch for each, as published: a step takes the next
      three batches of a client, or the next two without a Hessian.
    SHARED: One batch for all, so each batch is a step.
  """

  INDEPENDENT = 'independent'
  SHARED = 'shared'


class Direction(enum.Enum):
  """The kind of drift to send.

  The memo sends the largest; Passban et al. found the smallest half to be
  better.
  """

  LARGEST = 'largest'
  SMALLEST = 'smallest'


class CoordinateScore(enum.Enum):
  """The score by which coordinates are chosen, named as in FL4Health.

  WEIGHT is |w| after training, CHANGE is |w - w0|, MAGNITUDE_CHANGE is
  ||w| - |w0||.
  """

  WEIGHT = 'weight'
  CHANGE = 'change'
  MAGNITUDE_CHANGE = 'magnitude_change'


class RidgeBias(enum.Enum):
  """The kind of bias of a ridge classifier.

  Attributes:
    REGULARIZED: The weight of the constant feature, regularised like any other,
      as in the official code.
    CENTERED: A bias without regularisation, as in scikit-learn's Ridge:
      features and labels are centred.
    NONE: No bias.
  """

  REGULARIZED = 'regularized'
  CENTERED = 'centered'
  NONE = 'none'


class FineTuning(enum.Enum):
  """The trained part of a feature classifier, named as in the Fed3R paper.

  Attributes:
    FT: The whole classifier.
    FT_LP: The classifier only, a linear probe.
    FT_FEAT: The feature extractor only; the classifier is frozen.
  """

  FT = 'ft'
  FT_LP = 'ft_lp'
  FT_FEAT = 'ft_feat'


class ClassDistance(enum.Enum):
  """The distance of features phi to a class' mean m.

  Attributes:
    COSINE: The product with m / |m|, as published.
    EUCLIDEAN: |phi - m|^2, by the logits phi m - |m|^2 / 2.

  A class without examples is never the nearest.
  """

  COSINE = 'cosine'
  EUCLIDEAN = 'euclidean'


class UnitAverage(enum.Enum):
  """The weights of a unit to which several clients' units are matched.

  Attributes:
    MEAN: The mean over the clients that have the unit, so units of few clients
      are not scaled down. The authors' LSTM uses it.
    OVER_ALL: The sum over the clients that have the unit, divided by the number
      of all clients: Algorithm 1 of FedMA as written. It is the mean if all
      have the unit.
    POSTERIOR_MEAN: The mean of the posterior, which the prior draws to 0: with
      variances of 1, the sum divided by the number of clients plus one. The
      authors' code for images uses it. It changes even a single client's
      network.
  """

  MEAN = 'mean'
  OVER_ALL = 'over_all'
  POSTERIOR_MEAN = 'posterior_mean'


class Accountant(enum.Enum):
  """The accountant that bounds epsilon.

  Attributes:
    RDP: Rényi differential privacy, as in most published figures.
    PLD: Privacy loss distributions, which are tight.
  """

  RDP = 'rdp'
  PLD = 'pld'
