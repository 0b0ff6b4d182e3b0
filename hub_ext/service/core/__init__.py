"""The governor itself, synchronous and in one thread, made of one part a subject."""
