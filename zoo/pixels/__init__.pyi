from .cache import ImageCache as ImageCache
from .decoding import decoded as decoded
