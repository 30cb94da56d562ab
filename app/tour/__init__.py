"""The tour: the program plays its ways by itself, as a person would, and leaves pictures of them."""
