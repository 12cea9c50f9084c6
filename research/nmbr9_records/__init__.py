"""Records of NMBR 9 in free order: the best stack known, how it is found, and proofs of small games."""
