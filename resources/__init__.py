"""What Bough brings: the guide model, its pictures, themes and translations."""
