"""A search with a learned value over decks drawn at random: the strongest way to play unknown decks."""
