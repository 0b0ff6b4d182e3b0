"""What agents and servers report, and what is concluded of it at once."""
