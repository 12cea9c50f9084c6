"""AlphaZero with Gumbel root search (Danihelka et al. 2022)."""
