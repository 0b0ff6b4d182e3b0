"""The pages for people, made of sheets."""
