"""Published models, one YAML file each, by the name that `--model` and `zoo.load` take."""
