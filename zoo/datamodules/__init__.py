"""Caption sources, photographs and the datamodule that makes batches of them."""
