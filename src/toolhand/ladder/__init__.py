"""Which protocol a model is spoken to in: its profile, the rungs that it can step down to, and what each session has learnt."""

from toolhand.ladder.climb import Climb, Ladder, Steady, Way, way_of
from toolhand.ladder.profile import Profile, profile_of

__all__ = ["Climb", "Ladder", "Profile", "Steady", "Way", "profile_of", "way_of"]
