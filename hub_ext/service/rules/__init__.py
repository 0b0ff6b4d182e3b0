"""What binds a person or the site: policies accepted, observed, and explained as limits."""
