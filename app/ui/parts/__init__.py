"""Parts that know nothing of Bough."""
