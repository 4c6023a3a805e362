from .cache import ImageCache as ImageCache
from .decoding import decode_image as decode_image
