"""The embedded models' weights: the catalogue, the cache on this machine, and fetching them from several sources."""

from toolhand.models.weights.cache import cache_folder, is_present, path_of, remove
from toolhand.models.weights.catalogue import Entry, catalogue, find
from toolhand.models.weights.pull import pull

__all__ = ["Entry", "cache_folder", "catalogue", "find", "is_present", "path_of", "pull", "remove"]
