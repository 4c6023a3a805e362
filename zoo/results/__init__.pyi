from .report import Results as Results
