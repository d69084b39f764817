"""Generated data: Markov chains, ciphers, palindromes, names."""
