"""How strong agents are: matches, intervals, ratings, tournaments and the gauntlet."""
