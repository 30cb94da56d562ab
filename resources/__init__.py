"""Files that come with Bough: the guide model, icons, pictures, themes and translations."""
