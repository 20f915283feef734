# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models, and one view of TFF's two kinds of model."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy
from fedfish_tff.choices import FineTuning as FineTuning
from fedfish_tff.choices import RidgeBias as RidgeBias

if TYPE_CHECKING:
  from fedfish_tff.models.augmentation import *
  from fedfish_tff.models.class_metrics import *
  from fedfish_tff.models.dense import *
  from fedfish_tff.models.ensemble import *
  from fedfish_tff.models.feature_map import *
  from fedfish_tff.models.frozen_graph import *
  from fedfish_tff.models.image_models import *
  from fedfish_tff.models.keras_classifier import *
  from fedfish_tff.models.kneser_ney import *
  from fedfish_tff.models.label_samplers import *
  from fedfish_tff.models.language_model import *
  from fedfish_tff.models.linear_representation_model import *
  from fedfish_tff.models.low_rank_adapters import *
  from fedfish_tff.models.mobilenet import *
  from fedfish_tff.models.model_functions import *
  from fedfish_tff.models.model_partition import *
  from fedfish_tff.models.random_features import *
  from fedfish_tff.models.recurrent_language_model import *
  from fedfish_tff.models.resnet import *
  from fedfish_tff.models.ridge_classifier import *
  from fedfish_tff.models.ridge_solution import *
  from fedfish_tff.models.squeezenet import *
  from fedfish_tff.models.text_models import *
  from fedfish_tff.models.transformer import *
  from fedfish_tff.models.weight_files import *

_EXPORTS = {
  'augmentation': 'augment_images batch_seed',
  'class_metrics': 'check_class_names create_class_metric_fns MetricFns',
  'dense': 'create_mlp_classifier create_mlp_regressor mlp_tensor_names',
  'ensemble': 'create_ensemble',
  'feature_map': """
    Apply create_dense_features create_identity_features Divide FeatureMap
    resize_images with_unit_features
  """,
  'frozen_graph': """
    freeze_keras_model keras_version load_extractor load_keras_model Preprocess
  """,
  'image_models': """
    COMPACT_CNN_TENSORS create_compact_cnn create_dropout_cnn create_fed_avg_cnn
    create_lenet5 create_vgg9 DROPOUT_CNN_TENSORS FED_AVG_CNN_TENSORS
    LENET5_TENSORS LENET_TENSORS VGG9_TENSORS
  """,
  'keras_classifier': (
    'batch_normalization_tensors create_keras_classifier keras_tensor_names'
    ' KerasCall'
  ),
  'kneser_ney': 'KneserNeyModel',
  'label_samplers': """
    categorical_label_sampler gaussian_label_sampler token_label_sampler
  """,
  'language_model': 'create_language_model',
  'linear_representation_model': """
    create_linear_representation LINEAR_REPRESENTATION_TENSORS
  """,
  'low_rank_adapters': 'AdaptedModel add_low_rank_adapters',
  'mobilenet': 'load_mobilenet_v2',
  'model_functions': """
    batch_type bind_model BoundModel build_evaluation_pass build_initial_weights
    build_metrics_finalizer data_type flatten_weights FlatWeights is_functional
    LabelSampler metric_finalizers ModelFn split_batch TrainingGradients
    weights_like weights_type with_weights
  """,
  'model_partition': """
    bind_part fine_tuned_tensors join_tensors last_layer partition_model
    PartitionedModel select_tensors split_tensors
  """,
  'random_features': 'create_random_features median_bandwidth',
  'recurrent_language_model': """
    CHARACTER_LSTM_TENSORS CIFG_LSTM_TENSORS create_character_lstm
    create_cifg_lstm create_stackoverflow_rnn STACKOVERFLOW_RNN_TENSORS
  """,
  'resnet': 'create_resnet18 RESNET18_TENSORS',
  'ridge_classifier': """
    create_feature_classifier feature_classifier_tensor_names
    NUM_CLASSIFIER_TENSORS with_classifier
  """,
  'ridge_solution': 'check_regularizations solve_ridge solve_ridge_path',
  'squeezenet': 'create_squeezenet load_squeezenet',
  'text_models': """
    BAG_OF_TOKENS_TENSORS create_bag_of_tokens_classifier create_text_cnn
    TEXT_CNN_TENSORS
  """,
  'transformer': """
    create_transformer TRANSFORMER_SIZES transformer_tensor_names
  """,
  'weight_files': 'fit_weights name_weights read_weights',
}
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)
