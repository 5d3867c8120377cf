"""Looking at what was recorded: reading run folders, and the report made from them."""
