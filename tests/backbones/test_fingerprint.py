"""What encoded images and texts depend on, by which stored ones are found again."""

import torch

from zoo.backbones.backbone import Backbone
from zoo.backbones.fingerprint import encoding_dependencies


def test_features_made_with_inexact_products_are_others() -> None:
    """Those made in fp32 keep the name that they had before the precision was part of it."""
    backbone = Backbone("zoo-tiny")
    exact = encoding_dependencies(backbone)
    assert "fp32" not in exact
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")
        inexact = encoding_dependencies(backbone)
        assert "products" in inexact.pop("fp32")
        assert inexact == exact
    finally:
        torch.set_float32_matmul_precision(before)
    assert encoding_dependencies(backbone) == exact
