from .averaging import EMA as EMA
from .metrics_log import MetricsLog as MetricsLog
from .sharding import Sharded as Sharded
from .trainer import ZooTrainer as ZooTrainer
