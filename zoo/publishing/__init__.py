"""Publishing: exports of models, model cards and uploads."""
