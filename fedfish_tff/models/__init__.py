# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models, and one view of TFF's two kinds of model."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.choices import FineTuning
  from fedfish_tff.choices import RidgeBias
  from fedfish_tff.models.class_metrics import check_class_names
  from fedfish_tff.models.class_metrics import create_class_metric_fns
  from fedfish_tff.models.class_metrics import MetricFns
  from fedfish_tff.models.dense import create_mlp_classifier
  from fedfish_tff.models.dense import create_mlp_regressor
  from fedfish_tff.models.dense import mlp_tensor_names
  from fedfish_tff.models.ensemble import create_ensemble
  from fedfish_tff.models.extractor_features import create_extractor_features
  from fedfish_tff.models.feature_extractor import Apply
  from fedfish_tff.models.feature_extractor import Divide
  from fedfish_tff.models.feature_extractor import FeatureExtractor
  from fedfish_tff.models.feature_extractor import resize_images
  from fedfish_tff.models.feature_extractor import with_unit_features
  from fedfish_tff.models.feature_map import ApplyFn
  from fedfish_tff.models.feature_map import create_dense_features
  from fedfish_tff.models.feature_map import create_identity_features
  from fedfish_tff.models.feature_map import FeatureMap
  from fedfish_tff.models.frozen_graph import freeze_keras_model
  from fedfish_tff.models.frozen_graph import load_extractor
  from fedfish_tff.models.frozen_graph import Preprocess
  from fedfish_tff.models.image_models import COMPACT_CNN_TENSORS
  from fedfish_tff.models.image_models import create_compact_cnn
  from fedfish_tff.models.image_models import create_dropout_cnn
  from fedfish_tff.models.image_models import create_fed_avg_cnn
  from fedfish_tff.models.image_models import create_lenet5
  from fedfish_tff.models.image_models import create_vgg9
  from fedfish_tff.models.image_models import DROPOUT_CNN_TENSORS
  from fedfish_tff.models.image_models import FED_AVG_CNN_TENSORS
  from fedfish_tff.models.image_models import LENET5_TENSORS
  from fedfish_tff.models.image_models import LENET_TENSORS
  from fedfish_tff.models.image_models import VGG9_TENSORS
  from fedfish_tff.models.keras_classifier import create_keras_classifier
  from fedfish_tff.models.keras_classifier import keras_tensor_names
  from fedfish_tff.models.keras_classifier import KerasCall
  from fedfish_tff.models.kneser_ney import KneserNeyModel
  from fedfish_tff.models.label_samplers import (
    categorical_label_sampler as categorical_label_sampler,
  )
  from fedfish_tff.models.label_samplers import (
    gaussian_label_sampler as gaussian_label_sampler,
  )
  from fedfish_tff.models.label_samplers import (
    token_label_sampler as token_label_sampler,
  )
  from fedfish_tff.models.language_model import create_language_model
  from fedfish_tff.models.linear_representation import (
    create_linear_representation,
  )
  from fedfish_tff.models.linear_representation import (
    LINEAR_REPRESENTATION_TENSORS,
  )
  from fedfish_tff.models.low_rank_adapters import AdaptedModel
  from fedfish_tff.models.low_rank_adapters import add_low_rank_adapters
  from fedfish_tff.models.mobilenet import load_mobilenet_v2
  from fedfish_tff.models.model_functions import batch_type as batch_type
  from fedfish_tff.models.model_functions import bind_model as bind_model
  from fedfish_tff.models.model_functions import BoundModel as BoundModel
  from fedfish_tff.models.model_functions import (
    build_evaluation_pass as build_evaluation_pass,
  )
  from fedfish_tff.models.model_functions import (
    build_initial_weights as build_initial_weights,
  )
  from fedfish_tff.models.model_functions import (
    build_metrics_finalizer as build_metrics_finalizer,
  )
  from fedfish_tff.models.model_functions import data_type as data_type
  from fedfish_tff.models.model_functions import (
    flatten_weights as flatten_weights,
  )
  from fedfish_tff.models.model_functions import FlatWeights as FlatWeights
  from fedfish_tff.models.model_functions import is_functional as is_functional
  from fedfish_tff.models.model_functions import LabelSampler as LabelSampler
  from fedfish_tff.models.model_functions import (
    metric_finalizers as metric_finalizers,
  )
  from fedfish_tff.models.model_functions import ModelFn as ModelFn
  from fedfish_tff.models.model_functions import split_batch as split_batch
  from fedfish_tff.models.model_functions import (
    TrainingGradients as TrainingGradients,
  )
  from fedfish_tff.models.model_functions import weights_like as weights_like
  from fedfish_tff.models.model_functions import weights_type as weights_type
  from fedfish_tff.models.model_partition import bind_part
  from fedfish_tff.models.model_partition import fine_tuned_tensors
  from fedfish_tff.models.model_partition import join_tensors
  from fedfish_tff.models.model_partition import last_layer
  from fedfish_tff.models.model_partition import partition_model
  from fedfish_tff.models.model_partition import PartitionedModel
  from fedfish_tff.models.model_partition import select_tensors
  from fedfish_tff.models.model_partition import split_tensors
  from fedfish_tff.models.random_features import create_random_features
  from fedfish_tff.models.random_features import median_bandwidth
  from fedfish_tff.models.recurrent_language_model import CHARACTER_LSTM_TENSORS
  from fedfish_tff.models.recurrent_language_model import CIFG_LSTM_TENSORS
  from fedfish_tff.models.recurrent_language_model import create_character_lstm
  from fedfish_tff.models.recurrent_language_model import create_cifg_lstm
  from fedfish_tff.models.recurrent_language_model import (
    create_stackoverflow_rnn,
  )
  from fedfish_tff.models.recurrent_language_model import (
    STACKOVERFLOW_RNN_TENSORS,
  )
  from fedfish_tff.models.resnet import create_resnet18
  from fedfish_tff.models.resnet import RESNET18_TENSORS
  from fedfish_tff.models.ridge_classifier import create_feature_classifier
  from fedfish_tff.models.ridge_classifier import (
    feature_classifier_tensor_names,
  )
  from fedfish_tff.models.ridge_classifier import NUM_CLASSIFIER_TENSORS
  from fedfish_tff.models.ridge_classifier import with_classifier
  from fedfish_tff.models.ridge_path import check_regularizations
  from fedfish_tff.models.ridge_path import solve_ridge_path
  from fedfish_tff.models.ridge_solution import solve_ridge
  from fedfish_tff.models.squeezenet import create_squeezenet
  from fedfish_tff.models.squeezenet import load_squeezenet
  from fedfish_tff.models.text_models import BAG_OF_TOKENS_TENSORS
  from fedfish_tff.models.text_models import create_bag_of_tokens_classifier
  from fedfish_tff.models.text_models import create_text_cnn
  from fedfish_tff.models.text_models import TEXT_CNN_TENSORS
  from fedfish_tff.models.transformer import create_transformer
  from fedfish_tff.models.transformer import TRANSFORMER_SIZES
  from fedfish_tff.models.transformer import transformer_tensor_names

__getattr__, __dir__ = lazy.attach(__name__)
