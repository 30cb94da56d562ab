"""What the library hands out: states of text, and the generators that go on from them."""
