# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks of the tasks, built of the parts in fedfish_tff.models."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from tasks.networks.image_models import *
  from tasks.networks.kneser_ney import *
  from tasks.networks.mobilenet import *
  from tasks.networks.recurrent_language_model import *
  from tasks.networks.resnet import *
  from tasks.networks.squeezenet import *
  from tasks.networks.text_models import *
  from tasks.networks.transformer import *

_EXPORTS = {
  'image_models': """
    COMPACT_CNN_TENSORS create_compact_cnn create_dropout_cnn create_fed_avg_cnn
    create_lenet5 create_vgg9 DROPOUT_CNN_TENSORS FED_AVG_CNN_TENSORS
    LENET5_TENSORS LENET_TENSORS VGG9_TENSORS
  """,
  'kneser_ney': 'KneserNeyModel',
  'mobilenet': 'load_mobilenet_v2',
  'recurrent_language_model': """
    CHARACTER_LSTM_TENSORS CIFG_LSTM_TENSORS create_character_lstm
    create_cifg_lstm create_stackoverflow_rnn STACKOVERFLOW_RNN_TENSORS
  """,
  'resnet': 'create_resnet18 RESNET18_TENSORS',
  'squeezenet': 'create_squeezenet load_squeezenet',
  'text_models': """
    BAG_OF_TOKENS_TENSORS create_bag_of_tokens_classifier create_text_cnn
    TEXT_CNN_TENSORS
  """,
  'transformer': """
    create_transformer TRANSFORMER_SIZES transformer_tensor_names
  """,
}
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)
