"""Proofs: real preprocessing, compiling, linking and loading, with the target's compiler and consumers' flags."""
