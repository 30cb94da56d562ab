"""The tour: the program plays through its features by itself and saves pictures of them."""
